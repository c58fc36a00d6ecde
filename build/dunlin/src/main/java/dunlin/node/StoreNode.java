package dunlin.node;

import dunlin.cluster.Cluster;
import dunlin.cluster.MemberSettings;
import java.util.List;
import java.util.Set;

/** Composes a node that keeps replicas for its cluster, without listeners and tiers. */
final class StoreNode {
  private StoreNode() {}

  /** Returns when it belongs to its cluster. If it loses its cluster later, it continues with its replicas. */
  static void start(Foundation node) {
    MemberSettings settings = ClusterKeys.member(node.settings(), Set.of());
    node.openStore();
    ClusterMember member = new ClusterMember(node);
    Cluster cluster = member.join(settings, List.of(), List.of());
    StartProgress progress = new StartProgress(node.store(), () -> 0, System::nanoTime);
    node.report(progress);
    // Before the start, since the other nodes may start much later.
    node.openAdmin(() -> cluster.unserved().orElseGet(progress::text), () -> false, () -> false, () -> cluster.unserved().or(member::behind));
    member.start();
  }
}
