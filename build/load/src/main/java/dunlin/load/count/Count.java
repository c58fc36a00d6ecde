package dunlin.load.count;

/** The counters of a run. */
public enum Count {
  CONNECT_ATTEMPTS("connection attempts"),
  CONNECTED("connections"),
  CONNECTIONS_ENDED("connections ended"),
  CONNECT_REFUSED("connects refused by the broker"),
  CONNECT_FAILED("connects failed in the network"),
  CONNECT_TIMED_OUT("connects timed out"),
  DISCONNECTED_BY_BROKER("connections ended by the broker with a reason"),
  CONNECTION_LOST("connections ended without a reason"),
  PROTOCOL_ERRORS("packets of the broker that break the protocol"),
  PING_TIMED_OUT("pings timed out"),
  SUBSCRIBED("subscriptions"),
  SUBSCRIBE_REFUSED("subscriptions refused"),
  SUBSCRIBE_TIMED_OUT("subscribes timed out"),
  PUBLISHED_0("published, QoS 0"),
  PUBLISHED_1("published, QoS 1"),
  PUBLISHED_2("published, QoS 2"),
  DUE("deliveries due for what was published, roughly"),
  RESENT("published again after a reconnect"),
  ACKNOWLEDGED_1("acknowledged, QoS 1"),
  ACKNOWLEDGED_2("acknowledged, QoS 2"),
  PUBLISH_REFUSED("publishes answered with an error"),
  PUBLISH_TIMED_OUT("publishes timed out"),
  UNACKNOWLEDGED("publishes never acknowledged"),
  QUEUE_DROPPED("dropped by the tool's own queue"),
  WRITTEN_OFF("written off by a closed loop"),
  RECEIVED_0("received, QoS 0"),
  RECEIVED_1("received, QoS 1"),
  RECEIVED_2("received, QoS 2"),
  DUPLICATED_0("duplicated, QoS 0"),
  DUPLICATED_1("duplicated, QoS 1"),
  DUPLICATED_2("duplicated, QoS 2"),
  OUT_OF_ORDER_0("out of order, QoS 0"),
  OUT_OF_ORDER_1("out of order, QoS 1"),
  OUT_OF_ORDER_2("out of order, QoS 2"),
  REPEATED("QoS 2 packets sent again, dropped as the protocol says"),
  RETAINED("retained messages received"),
  WILLS("wills received"),
  FOREIGN("messages of others received"),
  UNCHECKED("received, not checked"),
  TICKS("ticks of the tool"),
  LATE_TICKS("ticks of the tool that came late"),
  BYTES_IN("bytes in"),
  BYTES_OUT("bytes out");

  private final String label;

  Count(String label) {
    this.label = label;
  }

  /** The label in tables. */
  public String label() {
    return label;
  }

  public static Count published(int qos) {
    return of(qos, PUBLISHED_0, PUBLISHED_1, PUBLISHED_2);
  }

  public static Count received(int qos) {
    return of(qos, RECEIVED_0, RECEIVED_1, RECEIVED_2);
  }

  public static Count duplicated(int qos) {
    return of(qos, DUPLICATED_0, DUPLICATED_1, DUPLICATED_2);
  }

  public static Count outOfOrder(int qos) {
    return of(qos, OUT_OF_ORDER_0, OUT_OF_ORDER_1, OUT_OF_ORDER_2);
  }

  private static Count of(int qos, Count qos0, Count qos1, Count qos2) {
    return switch (qos) {
      case 0 -> qos0;
      case 1 -> qos1;
      default -> qos2;
    };
  }
}
