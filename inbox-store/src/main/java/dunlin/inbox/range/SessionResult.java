package dunlin.inbox.range;

import dunlin.inbox.InboxClient;
import dunlin.inbox.SessionRef;
import java.util.List;

/** The result of a session command. */
public record SessionResult(Outcome outcome, Effects effects) {
  /** The answer to the command's proposer. */
  public sealed interface Outcome {
    /** The command took effect, now or when it was applied before. */
    record Done() implements Outcome {}

    /** The session has another epoch; nothing happened. */
    record Stale() implements Outcome {}

    /** A bound was reached; nothing happened. */
    record Full() implements Outcome {}

    /** A bound on all sessions together was reached; nothing happened. */
    record AllFull() implements Outcome {}

    /** An earlier message of the same connection was refused; nothing happened. */
    record Fenced() implements Outcome {}

    /** The session belongs to another user; nothing happened. */
    record OtherUser() implements Outcome {}

    /**
     * The exchange was recorded before, possibly with a different message; nothing happened, unless it was not stored for a group before.
     *
     * @param picked what the record knew of picks for groups, or that the message {@linkplain dunlin.transport.Terms.Pick#DELIVERED is delivered}
     */
    record Repeated(List<Long> picked) implements Outcome {}

    /**
     * Where the message of a recorded exchange goes for a group.
     *
     * @param pick the number of a shard with durable members; {@linkplain dunlin.transport.Terms.Pick#DELIVERED delivered}, when the message is; 0 without an open record
     * @param birth of the publisher's session; 0 without an open record
     */
    record Picked(long pick, long birth) implements Outcome {}

    record Connected(InboxClient.Connected connected) implements Outcome {}

    /** @param existed for each topic filter, whether there was a subscription, or a group with members */
    record Existed(List<Boolean> existed) implements Outcome {}

    record Appended(InboxClient.Appended appended) implements Outcome {}

    /**
     * @param stored messages that are in the inbox now, or were until it was full
     * @param refused messages that a full inbox has not taken
     */
    record Imported(SessionRef session, int stored, int refused) implements Outcome {}
  }
}
