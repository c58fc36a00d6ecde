package dunlin.node;

/** Composes a node of a cluster that has replicas and serves the ranges that it leads, without clients. */
final class StoreNode {
  private StoreNode() {}

  /** Returns when it belongs to its cluster. If it loses its cluster later, it continues with its replicas. */
  static void start(Foundation node) {
    ClusterParts parts = new ClusterParts(node);
    parts.unservedBy(() -> parts.cluster().unserved().or(parts.member()::behind));

    parts.start(retained -> retained);
    parts.tiers().beginWithoutClients();
    // It may have been a frontend before.
    parts.broker().removeEarlierRoutes(parts.tiers().dist());
    parts.member().handOverFirst();
  }
}
