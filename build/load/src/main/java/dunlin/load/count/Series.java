package dunlin.load.count;

/** The timed events, each measured from its intended start. */
public enum Series {
  CONNECT("connect", "from the intended connect to CONNACK"),
  SUBSCRIBE("subscribe", "from SUBSCRIBE to SUBACK"),
  ACKNOWLEDGE_1("acknowledge, QoS 1", "from the intended send to PUBACK"),
  ACKNOWLEDGE_2("acknowledge, QoS 2", "from the intended send to PUBCOMP"),
  DELIVER_0("deliver, QoS 0", "from the intended send to the receiver"),
  DELIVER_1("deliver, QoS 1", "from the intended send to the receiver"),
  DELIVER_2("deliver, QoS 2", "from the intended send to the receiver"),
  SEND_LAG("send late by", "from the intended send to the write: the tool's own part, a full socket's, or a full window's");

  private final String label;
  private final String meaning;

  Series(String label, String meaning) {
    this.label = label;
    this.meaning = meaning;
  }

  public String label() {
    return label;
  }

  public String meaning() {
    return meaning;
  }

  public static Series deliver(int qos) {
    return switch (qos) {
      case 0 -> DELIVER_0;
      case 1 -> DELIVER_1;
      default -> DELIVER_2;
    };
  }
}
