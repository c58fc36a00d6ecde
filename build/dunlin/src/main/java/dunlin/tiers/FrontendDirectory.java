package dunlin.tiers;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.cluster.Cluster;
import dunlin.dist.Deliveries;
import dunlin.dist.DistWorker;
import dunlin.dist.remote.RemoteDelivery;
import dunlin.dist.route.RouteClient;
import dunlin.model.ShardId;
import dunlin.placement.ClusterNode;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Attaches the frontends that may have connected clients to the dist worker of a leader, and detaches dead ones. */
final class FrontendDirectory {
  /*
   * A frontend ends its connections when it has lost its lease, before the cluster counts it as dead (FrontendLease). From then on messages that match its
   * routes have no receiver there, and must not wait for it: it is detached. Its routes stay until it starts again, leaves
   * the cluster, or has been dead for long (DeadRoutes); they cost memory, no messages. One whose process has ended is detached at once: its connections have ended with it (RefusedNodes).
   *
   * A frontend that is back has its clients' subscriptions added over a link of its own, and calls here as well when they are in another range (RouteRouter). So one
   * from which a call has come since is attached at once,
   * whatever the map of this node says, which may be old. A node without a lease detaches none: it cannot tell who else is without one.
   *
   * Owner: the thread of the links with calls for routes.
   * Bounds: the nodes of the map, those with links, and those that have left during this leadership.
   * Failure: a node that cannot be reached and is not counted as dead keeps its messages waiting until its link is lost; then they are answered
   *   SERVER_UNAVAILABLE.
   */
  private static final Logger LOG = LoggerFactory.getLogger(FrontendDirectory.class);

  private final DistWorker worker;
  private final RouteClient routes;
  private final LeaderDialler dialler;
  private final Cluster cluster;
  private final byte[] opening;
  private final UnacknowledgedDrops drops;
  private final RefusedNodes refused;
  private final DeadRoutes deadRoutes;
  private final Set<UUID> attached = new HashSet<>();
  private final Set<UUID> detached = new HashSet<>();

  /** Nodes that have left, by when that was first seen here. */
  private final Map<UUID, Long> leaving = new HashMap<>();

  private final Set<UUID> left = new HashSet<>();

  /** The nodes of the map at the last look. */
  private final Set<UUID> known = new HashSet<>();

  /** Detached since their processes have ended, until they open a link. */
  private final Set<UUID> gone = new HashSet<>();

  /** Nodes that were heard of again after the map said that they are dead, and that it says so still. */
  private final Set<UUID> backSinceDown = new HashSet<>();

  /**
   * @param routes of all ranges
   * @param opening of this leader's links
   * @param drops counts the QoS 0 messages that do not reach their frontend
   * @param deadRoutes removes what dead frontends leave behind
   */
  FrontendDirectory(
      DistWorker worker, RouteClient routes, LeaderDialler dialler, Cluster cluster, RefusedNodes refused, byte[] opening, UnacknowledgedDrops drops,
      DeadRoutes deadRoutes) {
    this.deadRoutes = deadRoutes;
    this.opening = opening;
    this.drops = drops;
    this.refused = refused;
    this.worker = worker;
    this.routes = routes;
    this.dialler = dialler;
    this.cluster = cluster;
  }

  /** Attaches and detaches nodes by their present state. */
  void compare() {
    deadRoutes.beforeTheMap();
    var nodes = cluster.map().nodes();
    deadRoutes.among(nodes.keySet());
    for (var node : nodes.values()) {
      if (node.state() != ClusterNode.State.DOWN) backSinceDown.remove(node.id());
      if (node.state() == ClusterNode.State.LEFT) leave(node.id());
      else if (!isFrontend(node)) withdraw(node.id());
      else if (isGone(node.id()) || isDead(node)) detach(node.id());
      else attach(node.id());
      if (isFrontend(node) && isDead(node)) deadRoutes.dead(node.id());
      else deadRoutes.alive(node.id());
    }
    known.addAll(leaving.keySet());
    for (UUID node : known) if (!nodes.containsKey(node)) leave(node); // it has left, and was forgotten
    known.clear();
    known.addAll(nodes.keySet());
  }

  private boolean isDead(ClusterNode node) {
    return node.state() == ClusterNode.State.DOWN && cluster.leased() && !backSinceDown.contains(node.id());
  }

  /** Whether the process of a node has ended. */
  private boolean isGone(UUID node) {
    if (gone.contains(node)) return true;
    if (!refused.isGone(node)) return false;
    gone.add(node);
    LOG.info("The process of node {} has ended: its host refuses connections. Messages for its clients are delivered nowhere until it is back", node);
    return true;
  }

  /** The node's frontend says something: it is there. */
  private void heard(UUID node) {
    gone.remove(node);
    refused.isThere(node);
    if (detached.contains(node)) backSinceDown.add(node);
    attach(node);
  }

  /** A node without clients: it may have called before the map said so. */
  private void withdraw(UUID node) {
    if (attached.contains(node)) detach(node);
  }

  private boolean hasClients(UUID node) {
    var row = cluster.map().nodes().get(node);
    return row == null ? !leaving.containsKey(node) : isFrontend(row) && row.state() != ClusterNode.State.LEFT;
  }

  private static boolean isFrontend(ClusterNode node) {
    return node.roles().contains(ClusterTiers.FRONTEND);
  }

  private void attach(UUID node) {
    if (!hasClients(node) || !attached.add(node)) return;
    detached.remove(node);
    worker.attachFrontend(node.toString(), deliveries((lane, thread) -> dialler.node(node, LinkNames.clients(lane), opening, thread), drops));
    worker.attachFrontend(
        application(node), deliveries((lane, thread) -> dialler.node(node, LinkNames.application(lane), opening, thread), drops));
  }

  private void detach(UUID node) {
    if (!detached.add(node)) return;
    attached.remove(node);
    worker.detachFrontend(node.toString());
    worker.detachFrontend(application(node));
  }

  /**
   * Removes the routes of a node that has left: it cannot return under this identity. It ends its connections as soon as it hears that it has left, or without a lease. Until then
   * messages are delivered to them, if they were before.
   */
  private void leave(UUID node) {
    if (isGone(node) || !attached.contains(node)) detach(node);
    long now = System.nanoTime();
    if (now - leaving.computeIfAbsent(node, _ -> now) < cluster.downAfter().toNanos() || !left.add(node)) return;
    detach(node);
    for (String shard : List.of(node.toString(), application(node))) {
      routes
          .removeRoutesBefore(ShardId.frontend(shard), Long.MAX_VALUE)
          .exceptionally(
              failure -> {
                LOG.warn("Routes of node {}, which has left the cluster, could not be removed; the next leader tries again, unless the node is forgotten by then: {}", node, failure.getMessage());
                return 0L;
              });
    }
  }

  private static String application(UUID node) {
    return ApplicationSubscriptions.shardOf(node.toString()).name();
  }

  private static Deliveries deliveries(BiFunction<Integer, Executor, SendingStream.Dialler> dialler, UnacknowledgedDrops drops) {
    return (lane, thread) -> new RemoteDelivery(dialler.apply(lane, thread), thread, System::nanoTime, null, drops);
  }

  /** Accepts links with calls for routes, and attaches the nodes that open and use them. */
  LinkAcceptor.Factory noting(LinkAcceptor.Factory calls) {
    return (link, opening) -> {
      var handler = calls.open(link, opening);
      UUID node = UUID.fromString(link.caller());
      heard(node);
      return new Heard(node, handler);
    };
  }

  /** The calls of a node. */
  private final class Heard implements Link.Handler {
    private final UUID node;
    private final Link.Handler calls;

    Heard(UUID node, Link.Handler calls) {
      this.node = node;
      this.calls = calls;
    }

    @Override
    public void received(byte[] frame) {
      heard(node);
      calls.received(frame);
    }

    @Override
    public void lost(String reason) {
      calls.lost(reason);
    }

    @Override
    public void confirmed() {
      calls.confirmed();
    }

    @Override
    public void connected() {
      heard(node);
      calls.connected();
    }
  }
}
