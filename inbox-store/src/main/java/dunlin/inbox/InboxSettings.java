package dunlin.inbox;

/**
 * Bounds of the session tier.
 *
 * @param shards hash buckets of client identifiers, each one destination of the dist tier; never changed in a cluster's life
 * @param messagesMax messages that one inbox holds, of a session or a group, or one queue of an ordered group's member
 * @param bytesMax bytes that it holds
 * @param overflow what happens to a message that finds an inbox full
 * @param subscriptionsMax subscriptions that one session holds
 * @param groupWindow unacknowledged messages that a member of a shared subscription holds; the rest waits in the group's inbox,
 *     or in an ordered group in that member's queue
 * @param sessionsMax durable sessions; one more is refused when it would begin
 */
public record InboxSettings(
    int shards, int messagesMax, long bytesMax, OverflowPolicy overflow, int subscriptionsMax, int groupWindow, long sessionsMax) {

  public InboxSettings {
    if (shards < 1 || shards > 4_096) throw new IllegalArgumentException("shards " + shards);
    if (messagesMax < 1) throw new IllegalArgumentException("messagesMax " + messagesMax);
    if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
    if (subscriptionsMax < 1) throw new IllegalArgumentException("subscriptionsMax " + subscriptionsMax);
    if (groupWindow < 1 || groupWindow > 65_535) throw new IllegalArgumentException("groupWindow " + groupWindow);
    if (sessionsMax < 1) throw new IllegalArgumentException("sessionsMax " + sessionsMax);
  }

  public static InboxSettings defaults() {
    return new InboxSettings(16, 100_000, 256L << 20, OverflowPolicy.DROP_OLDEST, 10_000, 256, 10_000_000);
  }

  InboxLimits limits() {
    return new InboxLimits(messagesMax, bytesMax, overflow, subscriptionsMax, groupWindow, sessionsMax);
  }
}
