package dunlin.node;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.broker.SysTopics;
import dunlin.broker.loop.Tiers;
import dunlin.broker.tenant.TenantLimit;
import dunlin.broker.users.AccessServer;
import dunlin.dist.DistClient;
import dunlin.dist.DistWorker;
import dunlin.inbox.server.InboxServer;
import dunlin.retain.RetainServer;
import dunlin.store.raft.RangeStore;
import dunlin.tiers.DistRoutes;
import dunlin.tiers.InboxDelivery;
import java.util.Optional;

/** Composes a broker that runs alone: all tiers in one process, which call each other. */
final class LoneBroker {
  private LoneBroker() {}

  /** Returns when clients can connect. */
  static Broker start(Foundation node) {
    BrokerParts parts = new BrokerParts(node, NodeRoles.of(node.settings()), Optional::empty);
    RangeStore store = node.store();
    Frontend frontend = parts.frontend();
    int shards = parts.inbox().layout().shards();
    TierConnections connections = node.opening(node.embedding().connections());
    DistWorker dist =
        DistWorker.create(
            store, parts.dist(), publisher -> InboxServer.shardOf(shards, publisher.tenant(), publisher.clientId()), node.meters(), node.tracer(),
            connections.deliveryThreads(node.meters()));
    InboxServer inbox =
        new InboxServer(
            store, parts.inbox(), new DistRoutes(connections.routesOfSessions(dist), parts.routesAnnounced()), frontend.wills(), parts.clock(),
            node.meters(), node.tracer());
    inbox.guard(frontend.heap());
    dist.limitTenants(frontend.quotaOfTenants(TenantLimit.ROUTES));
    inbox.limitTenants(
        frontend.quotaOfTenants(TenantLimit.SESSIONS)::max, frontend.quotaOfTenants(TenantLimit.ALL_SUBSCRIPTIONS), frontend.quotaOfTenants(TenantLimit.INBOX_BYTES));
    RetainServer retain = RetainServer.on(store, parts.retain(), node.meters(), parts.clock(), node.housekeeping());
    retain.guard(frontend.heap());
    retain.limitTenants(frontend.quotaOfTenants(TenantLimit.RETAINED), frontend.quotaOfTenants(TenantLimit.RETAINED_BYTES));
    Optional<AccessServer> access = access(node, parts);
    dist.attachFrontend(node.id(), connections.onLoops(frontend, frontend.delivery()));
    dist.attachInboxShards(connections.onShards(new InboxDelivery(inbox)));
    SysTopics sys = parts.sysTopics();

    store.start(node.stallMax());
    store.show(node.metrics().beans());
    node.backUp(BackupRanges.alone(store));
    DistClient distOfClients = connections.dist(dist);
    frontend.open(new Tiers(distOfClients, sys.over(connections.retain(retain)), connections.sessions(inbox, frontend), true));
    node.opening(inbox);
    node.opening(retain);
    retain.start();
    ApplicationSubscriptions subscriptions =
        parts.serveApplication(all -> dist.attachFrontend(all.shard().name(), connections.onLoops(frontend, all)));
    var _ = inbox.start(); // attach waits for the start, and fails with it
    parts.awaitSessions(connections.attach(inbox, frontend));
    inbox.detachAbsent(); // there is no other frontend; those of the nodes that restored data comes from are gone
    parts.removeEarlierRoutes(distOfClients);
    node.opening(sys).start();
    node.metrics().beans().register("Sessions", inbox.operations());
    node.metrics().beans().register("SessionExports", parts.sessionExports(inbox.exports()));
    node.metrics().beans().register("RetainedMessages", retain.operations());
    parts.showExports(retain);
    node.metrics().beans().register("Routes", dist.operations());
    access.ifPresent(served -> parts.serveUsers(node.opening(served)));
    access.ifPresent(AccessServer::start);
    parts.listen();
    return new Broker(frontend, subscriptions, Optional.of(inbox.operations()));
  }

  /** The range of users, if there are any, or if there were. */
  private static Optional<AccessServer> access(Foundation node, BrokerParts parts) {
    if (!parts.hasUsers()) return Optional.empty();
    // By the clock of the wall, as bans are judged and made.
    return Optional.of(AccessServer.on(node.store(), parts.users().bounds(), node.embedding().surroundings().wallClock(), node.housekeeping()));
  }
}
