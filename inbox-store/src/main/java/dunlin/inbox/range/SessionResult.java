package dunlin.inbox.range;

import dunlin.inbox.InboxClient;
import java.util.List;

/** What came of a session command. */
public record SessionResult(Outcome outcome, Effects effects) {
  /** The answer to its proposer. */
  public sealed interface Outcome {
    /** It took effect, or had done so before. */
    record Done() implements Outcome {}

    /** The session has another epoch; nothing happened. */
    record Stale() implements Outcome {}

    /** A bound stood in the way; nothing happened. */
    record Full() implements Outcome {}

    /** A bound on what all sessions have together stood in the way; nothing happened. */
    record AllFull() implements Outcome {}

    /** A message that its connection published before was refused; nothing happened. */
    record Fenced() implements Outcome {}

    /** The session is another user's; nothing happened. */
    record OtherUser() implements Outcome {}

    /** The exchange was recorded before, with a message that may have been another one; nothing happened. */
    record Repeated() implements Outcome {}

    record Connected(InboxClient.Connected connected) implements Outcome {}

    /**
     * @param existed for each topic filter, whether there was a subscription, or a group with members
     */
    record Existed(List<Boolean> existed) implements Outcome {}

    record Appended(InboxClient.Appended appended) implements Outcome {}
  }
}
