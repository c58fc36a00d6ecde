package dunlin.inbox.remote;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.QoS;

/** QoS and flags of a message for a session in one byte, as it crosses. */
final class MessageFlags {
  private static final int QOS = 0x03;
  private static final int RETAIN = 0x04;
  private static final int RELEASED = 0x08;
  private static final int DELIVERED = 0x10;

  /** The lowest bit that is free for others. */
  static final int FREE = 0x20;

  private MessageFlags() {}

  static int of(InboxMessage message) {
    return message.qos().code()
        | (message.retain() ? RETAIN : 0)
        | (message.released() ? RELEASED : 0)
        | (message.delivered() ? DELIVERED : 0);
  }

  static boolean areValid(int flags) {
    return flags < FREE && (flags & QOS) != QOS;
  }

  /** The message that has these flags, which are valid. */
  static InboxMessage message(long sequence, int flags, int[] subscriptionIdentifiers, Publication message) {
    return new InboxMessage(
        sequence, QoS.of(flags & QOS), (flags & RETAIN) != 0, (flags & RELEASED) != 0, (flags & DELIVERED) != 0, subscriptionIdentifiers, message);
  }
}
