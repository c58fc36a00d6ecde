package dunlin.chaos.mqtt;

/** Something that a client did or saw, or that was done to the broker; the nanoseconds are of one clock for all. */
sealed interface Event {
  long nanos();

  /** How a connection ended. */
  enum End {
    /** The client sent DISCONNECT 0x00, and then the connection was closed. */
    DISCONNECTED,
    /** The client closed it without a word. */
    ABANDONED,
    /** The client has opened another one meanwhile. */
    TAKEN_OVER,
    /** The broker closed it, or went away. */
    BY_BROKER
  }

  /**
   * A CONNACK with success.
   *
   * @param askedNanos when CONNECT was sent
   * @param expirySeconds 0 for a session that ends with its connection
   */
  record Connected(
      long nanos, String client, int connection, int level, long askedNanos, boolean cleanStart, long expirySeconds, boolean sessionPresent)
      implements Event {}

  /** A CONNECT that got another answer or none: nobody knows what it has done. */
  record ConnectFailed(long nanos, String client, int connection, long askedNanos, boolean cleanStart, int reason) implements Event {}

  /** @param reason of the broker's DISCONNECT, or -1 */
  record Ended(long nanos, String client, int connection, End how, int reason) implements Event {}

  /** A SUBACK that grants. */
  record Subscribed(long nanos, String client, int connection, long askedNanos, String filter, int qos) implements Event {}

  /** Sent, and from now on in effect at any time; {@link Unsubscribed} says when at the latest. */
  record UnsubscribeAsked(long nanos, String client, String filter) implements Event {}

  record Unsubscribed(long nanos, String client, int connection, String filter) implements Event {}

  /** A PUBLISH goes out, for the first time or again. */
  record Published(
      long nanos, String client, int connection, MessageId id, String topic, int qos, boolean retain, boolean delete, long expirySeconds, boolean dup)
      implements Event {}

  /** PUBACK or PUBREC came. */
  record Acknowledged(long nanos, String client, MessageId id, int code) implements Event {
    boolean success() {
      return code < Packet.ERRORS;
    }
  }

  /**
   * A PUBLISH came.
   *
   * @param repeated its exchange of QoS 2 is under way, so that it is no second delivery
   */
  record Received(
      long nanos, String client, int connection, MessageId id, String topic, int qos, boolean dup, boolean retain, boolean delete, int packetId,
      boolean repeated, long expirySeconds)
      implements Event {}

  /** PUBACK or PUBREC goes out. */
  record Answered(long nanos, String client, int connection, MessageId id) implements Event {}

  /** A CONNECT with a will was sent. */
  record WillSet(long nanos, String client, int connection, String topic, long delaySeconds) implements Event {}

  /** What is done to the broker. */
  enum Deed {
    STARTED,
    /** It, or all that it has not forced to disk, is gone. */
    KILLED,
    STRUCK,
    HEALED,
    /** Nothing is published any more, and all clients that are to stay have taken what there was for them. */
    DRAINED
  }

  record Broker(long nanos, Deed deed) implements Event {}
}
