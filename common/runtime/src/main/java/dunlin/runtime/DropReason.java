package dunlin.runtime;

import java.util.List;

/** Why a message that was received will not be delivered. A closed set; each is a value of the tag {@code reason}. */
public enum DropReason {
  /** QoS 0 to a connection whose socket is not writable. */
  NOT_WRITABLE("session"),
  /** The session's queue, its inbox, or the node's limit for all queues is full; at the hop {@code publish}, an inbox that rejects. */
  QUEUE_FULL("publish", "session", "inbox"),
  /** The message expired while it waited. */
  EXPIRED("session", "inbox"),
  /** Larger than the Maximum Packet Size that the client announced. */
  PACKET_TOO_LARGE("session"),
  /** No member of a shared subscription could take the message. */
  NO_MEMBER("publish", "session", "inbox"),
  /** The session ended while the message waited. */
  SESSION_ENDED("publish", "session", "inbox"),
  /** QoS 0 to a session that is not connected. */
  OFFLINE("inbox"),
  /** QoS 0 of a message that is sent again inside the broker: it may have been delivered before. */
  REPEATED("session", "inbox"),
  /** The node sheds load: a lane or a range accepts no more. */
  OVERLOADED("publish", "session", "lane", "delivery", "push"),
  /** There are as many retained messages as the node may have; the publisher got an error. */
  RETAINED_FULL("publish"),
  /** The message could not be stored durably; the publisher got an error. */
  NOT_DURABLE("publish", "inbox"),
  /** The publisher or the subscriber is not authorized. */
  NOT_AUTHORIZED("publish", "session"),
  /** Another process did not answer, or its stream could not be resumed. */
  UNREACHABLE("lane", "delivery", "push");

  @SuppressWarnings("ImmutableEnumChecker") // List.of makes lists that cannot change
  private final List<String> hops;

  DropReason(String... hops) {
    this.hops = List.of(hops);
  }

  /** The hops that drop messages for this reason, as metrics and logs spell them. */
  public List<String> hops() {
    return hops;
  }

  /** The reason as metrics and logs spell it. */
  public String tag() {
    return SettingText.writeEnum(this);
  }
}
