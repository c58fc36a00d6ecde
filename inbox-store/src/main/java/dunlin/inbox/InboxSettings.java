package dunlin.inbox;

/**
 * Bounds of the session tier.
 *
 * @param shards into which sessions are divided by tenant and client identifier, each one destination of the dist tier; never changed in a
 *     cluster's life
 * @param messagesMax messages that one inbox holds, of a session or a group, or one queue of an ordered group's member
 * @param bytesMax bytes that it holds
 * @param overflow what happens to a message that finds an inbox full
 * @param subscriptionsMax subscriptions that one session holds
 * @param groupWindow unacknowledged messages that a member of a shared subscription holds; the rest waits in the group's inbox,
 *     or in an ordered group in that member's queue
 * @param sums bounds of what all sessions have together
 */
public record InboxSettings(
    int shards, int messagesMax, long bytesMax, OverflowPolicy overflow, int subscriptionsMax, int groupWindow, Sums sums) {

  /**
   * What all sessions may have together.
   *
   * @param sessions durable sessions; one more is refused when it would begin
   * @param memory bytes of the heap that sessions and their subscriptions take, by an estimate: 256 for each, and for a session twice the lengths of
   *     its client identifier and its user, for a subscription four times that of its filter; a new durable session or subscription beyond is refused
   * @param messageBytes bytes of messages in all inboxes; a message finds each inbox full when there are as many
   */
  public record Sums(long sessions, long memory, long messageBytes) {
    public Sums {
      if (sessions < 1) throw new IllegalArgumentException("sessions " + sessions);
      if (memory < 1) throw new IllegalArgumentException("memory " + memory);
      if (messageBytes < 1) throw new IllegalArgumentException("messageBytes " + messageBytes);
    }

    /** A bound on the sessions alone. */
    public static Sums ofSessions(long sessions) {
      return new Sums(sessions, Long.MAX_VALUE, Long.MAX_VALUE);
    }
  }

  /** Most shards that there can be. */
  public static final int SHARDS_MAX = 4_096;

  public InboxSettings {
    if (shards < 1 || shards > SHARDS_MAX) throw new IllegalArgumentException("shards " + shards);
    if (messagesMax < 1) throw new IllegalArgumentException("messagesMax " + messagesMax);
    if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
    if (subscriptionsMax < 1) throw new IllegalArgumentException("subscriptionsMax " + subscriptionsMax);
    if (groupWindow < 1 || groupWindow > 65_535) throw new IllegalArgumentException("groupWindow " + groupWindow);
  }

  public static InboxSettings defaults() {
    return new InboxSettings(16, 100_000, 256L << 20, OverflowPolicy.DROP_OLDEST, 10_000, 256, Sums.ofSessions(10_000_000));
  }

  public InboxLimits limits() {
    return new InboxLimits(messagesMax, bytesMax, overflow, subscriptionsMax, groupWindow, sums);
  }
}
