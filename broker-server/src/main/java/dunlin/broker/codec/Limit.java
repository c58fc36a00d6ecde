package dunlin.broker.codec;

import java.util.Locale;

/** The limits that a client can exceed; the closed set of values of a metric's tag. */
public enum Limit {
  PACKET("dunlin.mqtt.packet-max"),
  CONNECT_PACKET("dunlin.mqtt.connect-packet-max"),
  TOPIC_LENGTH("dunlin.mqtt.topic-length-max"),
  TOPIC_LEVELS("dunlin.mqtt.topic-levels-max"),
  USER_PROPERTIES("dunlin.mqtt.user-properties-max"),
  FILTERS("dunlin.mqtt.filters-max"),
  CLIENT_ID("dunlin.mqtt.client-id-max"),
  WILL_PAYLOAD("dunlin.mqtt.will-payload-max"),
  TOPIC_ALIASES("dunlin.mqtt.topic-alias-maximum"),
  RECEIVE_MAXIMUM("dunlin.mqtt.receive-maximum"),
  SUBSCRIPTIONS("dunlin.session.subscriptions-max"),
  FILTER_BYTES("dunlin.session.filter-bytes-max"),
  SESSIONS("dunlin.session.sessions-max"),
  SESSION_MEMORY("dunlin.inbox.memory-max"),
  SUBSCRIPTION_MEMORY("dunlin.memory.subscriptions-max"),
  REQUEST_MEMORY("dunlin.memory.requests-max"),
  ROUTE_MEMORY("dunlin.dist.memory-max"),
  GROUPS("dunlin.dist.groups-max"),
  PATTERNS("dunlin.dist.patterns-max"),
  UNFINISHED_MEMORY("dunlin.memory.unfinished-max"),
  UNAUTHENTICATED_MEMORY("dunlin.memory.unauthenticated-max");

  private final String setting;

  Limit(String setting) {
    this.setting = setting;
  }

  /** The key of the limit's setting. */
  public String setting() {
    return setting;
  }

  /** The name in metrics: {@code topic-levels}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** The explanation for the client: the actual value, the limit, and the setting of the limit. */
  public String exceededBy(String what, long allowed) {
    return what + ", limit " + allowed + " (" + setting + ")";
  }
}
