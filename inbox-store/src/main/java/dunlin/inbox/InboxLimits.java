package dunlin.inbox;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;

/**
 * The bounds that commands are applied under. They are written to the log, because a range reads no settings while it
 * applies commands: every replica changes its bounds at the same entry.
 */
public record InboxLimits(int messagesMax, long bytesMax, OverflowPolicy overflow, int subscriptionsMax, int groupWindow, InboxSettings.Sums sums) {
  public void writeTo(FieldWriter out) {
    out.number(messagesMax);
    out.number(bytesMax);
    out.octet(overflow.code());
    out.number(subscriptionsMax);
    out.number(groupWindow);
    out.number(sums.sessions());
    out.number(sums.memory());
    out.number(sums.messageBytes());
  }

  public static InboxLimits readFrom(FieldReader in) {
    return new InboxLimits(in.count(), in.number(), OverflowPolicy.of(in.octet()), in.count(), in.count(), readSums(in));
  }

  private static InboxSettings.Sums readSums(FieldReader in) {
    return new InboxSettings.Sums(in.number(), in.number(), in.number());
  }
}
