package dunlin.node;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.inbox.SessionsMXBean;
import java.util.Optional;

/**
 * What a node that serves clients is reached by.
 *
 * @param subscriptions of the application that embeds the node
 * @param sessions the operations on sessions; empty in a cluster, where the node that leads the sessions has them
 */
record Broker(Frontend frontend, ApplicationSubscriptions subscriptions, Optional<SessionsMXBean> sessions) {}
