package dunlin.inbox;

import org.jspecify.annotations.Nullable;

/** How much stands in one inbox, a session's or a group's; the messages themselves are rows. */
final class Backlog {
  /*
   * Owner: the applying thread.
   * Bounds: messages and bytes by InboxLimits; Inboxes keeps to them.
   */
  final String tenant;

  /** What the keys of its messages begin with. */
  final byte[] prefix;

  /** Whose inbox it is; null for a group's, and for what an ended session or group has left. */
  final @Nullable SessionState session;

  /** No message has a lower sequence; there may be none with this one. */
  long first;

  /** The sequence of the next message. */
  long next;

  int count;
  long bytes;

  Backlog(String tenant, byte[] prefix, @Nullable SessionState session, long origin) {
    this.tenant = tenant;
    this.prefix = prefix;
    this.session = session;
    first = origin;
    next = origin;
  }

  byte[] key(long sequence) {
    return SessionKeys.message(prefix, sequence);
  }
}
