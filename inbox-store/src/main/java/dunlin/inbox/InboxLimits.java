package dunlin.inbox;

/**
 * The bounds that decide how commands apply. They come through the log, because a range reads no setting while it applies:
 * every replica changes them at the same entry.
 */
record InboxLimits(int messagesMax, long bytesMax, OverflowPolicy overflow, int subscriptionsMax, int groupWindow, long sessionsMax) {
  void writeTo(FieldWriter out) {
    out.number(messagesMax);
    out.number(bytesMax);
    out.octet(overflow.code());
    out.number(subscriptionsMax);
    out.number(groupWindow);
    out.number(sessionsMax);
  }

  static InboxLimits readFrom(FieldReader in) {
    return new InboxLimits(in.count(), in.number(), OverflowPolicy.of(in.octet()), in.count(), in.count(), in.number());
  }
}
