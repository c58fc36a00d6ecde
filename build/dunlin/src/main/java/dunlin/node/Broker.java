package dunlin.node;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.inbox.SessionsMXBean;
import java.util.Optional;

/** A node that serves clients. */
interface Broker {
  Frontend frontend();

  ApplicationSubscriptions subscriptions();

  /** The operations on sessions; empty in a cluster, where the node that leads the sessions has them. */
  Optional<SessionsMXBean> sessions();
}
