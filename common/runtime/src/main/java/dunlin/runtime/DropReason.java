package dunlin.runtime;

/** Why a message that was received will not be delivered. A closed set: each is a value of the tag {@code reason}. */
public enum DropReason {
  /** QoS 0 to a connection whose socket takes no more. */
  NOT_WRITABLE,
  /** The session's queue, its inbox, or what the node has for all queues, is at its bound. */
  QUEUE_FULL,
  /** Its Message Expiry Interval passed while it waited. */
  EXPIRED,
  /** Larger than the Maximum Packet Size that the client announced. */
  PACKET_TOO_LARGE,
  /** No member of a shared subscription could take it. */
  NO_MEMBER,
  /** The session ended while the message waited. */
  SESSION_ENDED,
  /** QoS 0 to a session that is not connected. */
  OFFLINE,
  /** The node sheds load: a lane or a range takes no more. */
  OVERLOADED,
  /** It could not be stored as safely as was promised; the publisher was told so. */
  NOT_DURABLE,
  /** The publisher or the subscriber may not. */
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
