package dunlin.node;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.broker.SysTopics;
import dunlin.broker.loop.Tiers;
import dunlin.cluster.Cluster;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.links.LinkDialler;
import dunlin.links.LinkService;
import dunlin.tiers.ClusterTiers;
import dunlin.transport.link.Link;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/** Composes a broker that is a node of a cluster: a frontend, and this node's part in the tiers of the cluster. */
final class ClusterBroker {
  private ClusterBroker() {}

  /** Returns when clients can connect. */
  static Broker start(Foundation node) {
    // The admin port asks for it, and is open before there is a member or a tier.
    AtomicReference<Supplier<Optional<String>>> unserved = new AtomicReference<>(Optional::empty);
    BrokerParts parts = new BrokerParts(node, () -> unserved.get().get());
    Frontend frontend = parts.frontend();
    ClusterMember member = new ClusterMember(node);
    LinkDialler dials = node.opening(new LinkDialler(node.store().member().node(), Link.Settings.defaults(), member.tls(), node.meters()));
    LinkService links = node.opening(new LinkService(node.store().member().node(), member::host, node.meters()));
    ClusterTiers tiers =
        node.opening(
            new ClusterTiers(
                new ClusterTiers.Parts(
                    frontend, links, dials, node.meters(), node.metrics().beans(), parts.clock(), node.housekeeping(),
                    node.settings().get(ClusterKeys.HEARTBEAT), parts.routesAnnounced()),
                parts.dist(), DeliverSettings.from(node.settings()), parts.inbox(), parts.retain()));
    Cluster cluster = member.join(ClusterKeys.member(node.settings(), ClusterTiers.founded()), tiers.kinds(), List.of(links));
    tiers.in(cluster);
    unserved.set(() -> member.unleased().or(member::behind).or(tiers::unreached));
    SysTopics sys = parts.sysTopics();

    member.start();
    frontend.open(new Tiers(tiers.dist(), sys.over(tiers.retained()), tiers.sessions(), false));
    ApplicationSubscriptions subscriptions = parts.serveApplication(tiers::accept);
    parts.awaitSessions(tiers.begin());
    parts.removeEarlierRoutes(tiers.dist(), subscriptions);
    node.opening(sys).start();
    parts.listen();
    return new Broker(frontend, subscriptions, Optional.empty());
  }
}
