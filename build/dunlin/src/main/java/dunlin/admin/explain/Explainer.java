package dunlin.admin.explain;

import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientOutlook;
import dunlin.cluster.ClusterMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.SessionOutlook;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.runtime.metrics.SettingsMXBean;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;

/** Explains by the beans of the node. */
public final class Explainer implements ExplanationMXBean {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: one client, one session with its subscriptions, one page of routes.
   * Failure: what the beans throw.
   */
  private static final int TOPIC_MAX = 65_535;

  private final NodeBeans beans;
  private final String node;

  /** @param node the id of this node, by which routes name it */
  public Explainer(NodeBeans beans, String node) {
    this.beans = beans;
    this.node = node;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException when there can be no such message
   * @throws NoSuchElementException when there is certainly no such client: it is not connected here, and this node leads the sessions and has
   *     none of it
   * @throws IllegalStateException when the node cannot say anything now
   */
  @Override
  public Explanation explain(String tenant, String clientId, String topic, String publisher, int qos, boolean retain) {
    check(topic);
    if (clientId.isEmpty()) throw new IllegalArgumentException("a client identifier has at least one character");
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("QoS is 0, 1 or 2, not " + qos);
    Optional<ClientsMXBean> clients = beans.find(ClientsMXBean.class);
    Optional<SessionsMXBean> sessions = beans.find(SessionsMXBean.class);
    Optional<ClusterMXBean> cluster = beans.find(ClusterMXBean.class);
    if (clients.isEmpty() && sessions.isEmpty() && cluster.isEmpty()) throw new IllegalStateException("the node is starting, or it serves no clients");
    Optional<ClientOutlook> online = clients.flatMap(bean -> bean.outlook(tenant, clientId, publisher, topic, qos, retain).stream().findFirst());
    Optional<SessionOutlook> stored = sessions.flatMap(bean -> bean.outlook(tenant, clientId, topic).stream().findFirst());
    if (online.isEmpty() && stored.isEmpty() && sessions.isPresent()) {
      throw new NoSuchElementException(
          "The client is not connected, and the tenant %s has no session of it: it has ended, or there was never one.".formatted(tenant));
    }
    Map<String, String> settings = beans.find(SettingsMXBean.class).map(SettingsMXBean::getEffective).orElseGet(Map::of);
    Walk.Known known = new Walk.Known(node, clients, sessions, beans.find(RoutesMXBean.class), cluster, settings);
    return new Walk(known, new Walk.Asked(tenant, clientId, topic, publisher, qos, retain), online, stored).explain();
  }

  private static void check(String topic) {
    int length = topic.getBytes(StandardCharsets.UTF_8).length;
    if (length == 0 || length > TOPIC_MAX) throw new IllegalArgumentException("a topic name has 1 to %d bytes".formatted(TOPIC_MAX));
    if (topic.chars().anyMatch(c -> c == '+' || c == '#' || c == 0)) {
      throw new IllegalArgumentException("a topic name has no wildcards, + and #, and no character U+0000");
    }
    if (topic.matches("(?s)\\$o?share(/.*)?")) throw new IllegalArgumentException("a topic name does not begin with $share or $oshare");
  }
}
