package dunlin.broker.tenant;

import java.util.Locale;

/** What can be limited of a tenant: at each node, or where the stores have it in the whole cluster. The names are those of settings, records and metrics. */
public enum TenantLimit {
  /** Open connections. */
  CONNECTIONS(Form.NUMBER, 1, 10_000_000),
  /** Accepted connections a second. */
  CONNECT_RATE(Form.NUMBER, 1, 1_000_000),
  /** PUBLISH packets from clients, a second. */
  MESSAGES_IN(Form.NUMBER, 1, 10_000_000),
  /** Bytes from clients, a second. */
  BYTES_IN(Form.BYTES, 1_024, 1L << 40),
  /** PUBLISH packets to clients, a second. */
  MESSAGES_OUT(Form.NUMBER, 1, 10_000_000),
  /** Bytes of PUBLISH packets to clients, a second. */
  BYTES_OUT(Form.BYTES, 1_024, 1L << 40),
  /** The size of a packet from a client, in bytes. */
  PACKET(Form.BYTES, 1_024, 1L << 21),
  /** Durable sessions, of the whole cluster. */
  SESSIONS(Form.NUMBER, 1, 100_000_000),
  /** Subscriptions of one session. */
  SUBSCRIPTIONS(Form.NUMBER, 1, 10_000_000),
  /** Subscriptions of all durable sessions, of the whole cluster; and of all other sessions, of each node. */
  ALL_SUBSCRIPTIONS(Form.NUMBER, 1, 1_000_000_000),
  /** Routes, of the whole cluster: topic filters by the places whose messages they want. */
  ROUTES(Form.NUMBER, 1, 1_000_000_000),
  /** Bytes of the messages in the inboxes of all durable sessions, of the whole cluster. */
  INBOX_BYTES(Form.BYTES, 1 << 16, 1L << 50),
  /** Topics with a retained message, of the whole cluster. */
  RETAINED(Form.NUMBER, 0, 1_000_000_000),
  /** Bytes of retained messages and their topics, of the whole cluster. */
  RETAINED_BYTES(Form.BYTES, 1_024, 1L << 50),
  /** The highest QoS of messages from clients and of their subscriptions. */
  QOS(Form.NUMBER, 0, 2),
  /** Whether topic filters may have wildcards. */
  WILDCARDS(Form.WHETHER, 0, 1),
  /** Whether there are shared subscriptions. */
  SHARED(Form.WHETHER, 0, 1);

  /** How a value is written. */
  enum Form {
    NUMBER,
    /** A number with or without a unit: 65536, 64KiB. */
    BYTES,
    /** {@code yes} or {@code no}. */
    WHETHER
  }

  private final Form form;
  private final long min;
  private final long max;

  TenantLimit(Form form, long min, long max) {
    this.form = form;
    this.min = min;
    this.max = max;
  }

  Form form() {
    return form;
  }

  long min() {
    return min;
  }

  long max() {
    return max;
  }

  /** Its place in arrays with a number for each limit; stored nowhere. */
  @SuppressWarnings("EnumOrdinal") // such an array is read for each message
  int index() {
    return ordinal();
  }

  /** The name: {@code connect-rate}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
