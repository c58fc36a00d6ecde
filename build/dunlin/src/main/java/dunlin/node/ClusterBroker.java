package dunlin.node;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.SysTopics;
import dunlin.tiers.ClusterTiers;
import java.util.Optional;

/** Composes a node of a cluster that clients connect to: a frontend, and the part in the tiers that its roles give it, if any. */
final class ClusterBroker {
  private ClusterBroker() {}

  /** Returns when clients can connect. */
  static Broker start(Foundation node) {
    ClusterParts parts = new ClusterParts(node);
    BrokerParts broker = parts.broker();
    ClusterTiers tiers = parts.tiers();
    parts.unservedBy(() -> parts.member().unleased().or(parts.member()::behind).or(tiers::unreached).or(broker::unjudged));
    SysTopics sys = broker.sysTopics();

    parts.start(sys::over);
    ApplicationSubscriptions subscriptions = broker.serveApplication(tiers::accept);
    broker.awaitSessions(tiers.begin());
    broker.removeEarlierRoutes(tiers.dist());
    node.opening(sys).start();
    broker.listen();
    parts.member().handOverFirst();
    return new Broker(broker.frontend(), subscriptions, Optional.empty());
  }
}
