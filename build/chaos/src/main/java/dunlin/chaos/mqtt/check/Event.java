package dunlin.chaos.mqtt.check;

/** An action or observation of a client, or a fault of the broker; all times are of one clock. */
public sealed interface Event {
  long nanos();

  /** How a connection ended. */
  enum End {
    /** The client sent DISCONNECT 0x00, and then the connection was closed. */
    DISCONNECTED,
    /** The client closed the connection without DISCONNECT. */
    ABANDONED,
    /** The client has opened another connection. */
    TAKEN_OVER,
    /** The broker closed the connection, or ended. */
    BY_BROKER
  }

  /**
   * A CONNACK with success.
   *
   * @param node the number of the broker, from 1
   * @param askedNanos when CONNECT was sent
   * @param expirySeconds 0 for a session that ends with its connection
   */
  record Connected(
      long nanos, String client, int connection, int node, int level, long askedNanos, boolean cleanStart, long expirySeconds, boolean sessionPresent)
      implements Event {}

  /** A CONNECT with another answer or none: its effect is unknown. */
  record ConnectFailed(long nanos, String client, int connection, long askedNanos, boolean cleanStart, int reason) implements Event {}

  /**
   * @param reason the reason code of the broker's DISCONNECT, or -1
   * @param askedNanos when the client began to send DISCONNECT; the broker may count the connection as ended from then on. Else as nanos
   */
  record Ended(long nanos, String client, int connection, End how, int reason, long askedNanos) implements Event {
    /** An end for which the client has sent no DISCONNECT. */
    public Ended(long nanos, String client, int connection, End how, int reason) {
      this(nanos, client, connection, how, reason, nanos);
    }
  }

  /** SUBSCRIBE was sent; it takes effect between this and {@link Subscribed}, and may do so when no SUBACK comes. */
  record SubscribeAsked(long nanos, String client, String filter) implements Event {}

  /** A SUBACK that grants the subscription. */
  record Subscribed(long nanos, String client, int connection, long askedNanos, String filter, int qos) implements Event {}

  /** UNSUBSCRIBE was sent; it takes effect between this and {@link Unsubscribed}. */
  record UnsubscribeAsked(long nanos, String client, String filter) implements Event {}

  record Unsubscribed(long nanos, String client, int connection, String filter) implements Event {}

  /** A PUBLISH is sent, for the first time or again. */
  record Published(
      long nanos, String client, int connection, MessageId id, String topic, int qos, boolean retain, boolean delete, long expirySeconds, boolean dup)
      implements Event {}

  /** PUBACK or PUBREC was received. */
  record Acknowledged(long nanos, String client, MessageId id, int code) implements Event {
    public boolean success() {
      return code < Packet.ERRORS;
    }
  }

  /**
   * A PUBLISH was received.
   *
   * @param repeated its QoS 2 exchange is in progress, so it is no second delivery
   */
  record Received(
      long nanos, String client, int connection, MessageId id, String topic, int qos, boolean dup, boolean retain, boolean delete, int packetId,
      boolean repeated, long expirySeconds)
      implements Event {}

  /** A PUBLISH was received over a connection after the client had begun to open the next one; it is not answered. */
  record ReceivedBehind(long nanos, String client, int connection, MessageId id, int qos) implements Event {}

  /** PUBACK or PUBREC is sent. */
  record Answered(long nanos, String client, int connection, MessageId id) implements Event {}

  /** A CONNECT with a will was sent. */
  record WillSet(long nanos, String client, int connection, String topic, long delaySeconds) implements Event {}

  /** Events of a broker. */
  enum Deed {
    /** The process of the broker is started; it does not serve yet. */
    LAUNCHED,
    STARTED,
    /** The broker of a cluster has learned that all others record the wills that are sent (D7). */
    RECORDS_WILLS,
    /** It has learned of another one, which has not said so. */
    RECORDS_NO_WILLS,
    /** The broker was killed, or has lost all data that was not forced to disk. */
    KILLED,
    STRUCK,
    /** The same of a frontend without replicas: leaderships stay where they are. */
    STRUCK_FRONTEND,
    /** The broker is cut off from all others from now on, but reached by clients. */
    CUT,
    /** The broker is cut off from clients, too, until the fault is healed. */
    UNREACHABLE,
    /** The broker will soon reach the others again. */
    MENDED,
    HEALED,
    /** The wall clock of the broker, which runs, was moved. That is no excuse for anything. */
    CLOCK_MOVED,
    /** The wall clock of the broker, which does not run, was moved by {@link Facts#CLOCK_STEP_NANOS}: it counts as time for which the broker was away. */
    CLOCK_MOVED_WHILE_AWAY,
    /** Publishing has ended, and all remaining clients have received their messages. */
    DRAINED
  }

  /**
   * @param node the number of the broker of a cluster, from 1; 0 when it is not about one of them
   * @param note for the reader of a history
   */
  record Broker(long nanos, Deed deed, int node, String note) implements Event {}
}
