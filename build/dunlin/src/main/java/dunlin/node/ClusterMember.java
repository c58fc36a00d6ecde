package dunlin.node;

import static java.util.Objects.requireNonNull;

import dunlin.cluster.Cluster;
import dunlin.cluster.MemberSettings;
import dunlin.cluster.RangeKind;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.dist.route.RouteReplica;
import dunlin.placement.ClusterMap;
import dunlin.retain.RetainReplica;
import dunlin.retain.TopicKeys;
import dunlin.runtime.Settings;
import dunlin.runtime.Surroundings;
import dunlin.store.grpc.PeerService;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.raft.RangeStore;
import dunlin.store.remote.RangeService;
import dunlin.store.remote.RemoteCalls;
import dunlin.store.remote.RemoteSnapshots;
import dunlin.store.serve.RangeLocation;
import dunlin.store.snapshot.LocalSnapshots;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The membership of a node in its cluster: the calls of other nodes, and its replicas, if it has a store. */
final class ClusterMember {
  /*
   * Owner: the thread that starts the node; other nodes and the admin port ask from any thread, also before it has joined.
   */
  private final Foundation node;
  private final @Nullable ServiceTls tls;
  private volatile @Nullable Cluster cluster;
  private volatile @Nullable CatchUp catchUp;

  ClusterMember(Foundation node) {
    this.node = node;
    tls = ClusterKeys.tls(node.settings()).orElse(null);
    if (tls != null) {
      tls.show(node.meters());
      node.everySeconds(Foundation.RELOAD_SECONDS, tls::refresh);
    }
  }

  /** Null when nodes call each other without TLS. */
  @Nullable ServiceTls tls() {
    return tls;
  }

  /**
   * Opens the port at which other nodes call this one; starts neither the cluster nor the store.
   *
   * @param kinds the kinds of ranges that this node may have replicas of; none without a store
   */
  Cluster join(MemberSettings member, List<RangeKind<?, ?, ?>> kinds, List<PeerService> services) {
    Optional<RangeStore> store = node.stored();
    Settings settings = node.settings();
    RemoteCalls calls = node.opening(new RemoteCalls(tls, node.meters()));
    Surroundings routes = node.embedding().surroundings();
    NodeCalls others =
        (to, request, deadline) -> {
          InetSocketAddress taken = routes.route(to.host(), to.port());
          return calls.call(taken.getHostString(), taken.getPort(), to.name(), request, deadline);
        };
    Cluster joined =
        node.opening(
            store
                .map(all -> Cluster.open(member, all, node.dataDirectory(), others, kinds, node.meters()))
                .orElseGet(() -> Cluster.openWithoutStore(member, node.identity(), node.dataDirectory(), others, node.meters())));
    cluster = joined;
    if (store.isPresent()) {
      RemoteSnapshots snapshots = node.opening(new RemoteSnapshots(peer -> serviceOf(joined, peer, routes), tls));
      store.get().fetchSnapshotsBy(snapshots);
      node.backUp(BackupRanges.of(store.get(), joined, snapshots));
    }
    node.opening(
        RangeService.start(
            ClusterKeys.serviceAddress(settings), joined.self(), _ -> Optional.empty(), store.<LocalSnapshots>map(all -> all).orElseGet(LocalSnapshots::none), joined::answer,
            services, ClusterKeys.service(settings), tls, node.meters(), System::nanoTime));
    node.metrics().beans().register("Cluster", joined.bean(Map.of(RetainReplica.KIND, TopicKeys::of, RouteReplica.KIND, RouteReplica::first), MissingRoles::in));
    catchUp = node.opening(new CatchUp(() -> joined.connected() ? joined.map() : ClusterMap.empty(), () -> store.map(RangeStore::status).orElseGet(List::of), joined.self()));
    return joined;
  }

  /** Starts the cluster and the store; returns when this node is one of the cluster's voters, as far as it needs them. */
  void start() {
    Cluster joined = requireNonNull(cluster);
    joined.start(node.settings().get(ClusterKeys.JOIN_TIMEOUT));
    requireNonNull(catchUp).follow();
    node.stored().ifPresent(store -> store.show(node.metrics().beans()));
    joined.awaitVoters(node.readiness()::isStarting);
  }

  /**
   * Called once all else of the node is open, so that it is closed first: other nodes lead its ranges before anything else of it ends. Else callers would
   * wait until the links, the clients and the calls of this node have been closed.
   */
  void handOverFirst() {
    node.stored().ifPresent(store -> node.opening(store::handOver));
  }

  private static Optional<RangeLocation.Peer> serviceOf(Cluster cluster, UUID node, Surroundings routes) {
    return cluster.service(node).map(at -> routes.route(at.host(), at.port())).map(at -> new RangeLocation.Peer(node, at.getHostString(), at.getPort()));
  }

  /** The host at which another node of the cluster says that it is; empty while it is not known. */
  Optional<String> host(UUID other) {
    Cluster joined = cluster;
    return joined == null ? Optional.empty() : joined.service(other).map(NodeAddress::host);
  }

  /** Why this node has no lease; empty when it has one, and before it joins. */
  Optional<String> unleased() {
    Cluster joined = cluster;
    return joined == null || joined.leased()
        ? Optional.empty()
        : Optional.of("this node has no lease in its cluster: no leader of the meta group answers its heartbeats, or it counts as dead or has left");
  }

  /** Which replica of this node has not caught up since the start; empty when all have. */
  Optional<String> behind() {
    CatchUp own = catchUp;
    return own == null ? Optional.empty() : own.behind();
  }
}
