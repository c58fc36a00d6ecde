package dunlin.runtime;

/** Why a message that was received will not be delivered. A closed set; each is a value of the tag {@code reason}. */
public enum DropReason {
  /** QoS 0 to a connection whose socket is not writable. */
  NOT_WRITABLE,
  /** The session's queue, its inbox, or the node's limit for all queues is full. */
  QUEUE_FULL,
  /** The message expired while it waited. */
  EXPIRED,
  /** Larger than the Maximum Packet Size that the client announced. */
  PACKET_TOO_LARGE,
  /** No member of a shared subscription could take the message. */
  NO_MEMBER,
  /** The session ended while the message waited. */
  SESSION_ENDED,
  /** QoS 0 to a session that is not connected. */
  OFFLINE,
  /** QoS 0 of a message that is sent again inside the broker: it may have been delivered before. */
  REPEATED,
  /** The node sheds load: a lane or a range accepts no more. */
  OVERLOADED,
  /** The message could not be stored durably; the publisher got an error. */
  NOT_DURABLE,
  /** The publisher or the subscriber is not authorized. */
  NOT_AUTHORIZED,
  /** Another process did not answer, or its stream could not be resumed. */
  UNREACHABLE,
  /** The node is stopping. */
  SHUTDOWN;

  /** The reason as metrics and logs spell it. */
  public String tag() {
    return SettingText.writeEnum(this);
  }
}
