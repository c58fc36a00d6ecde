package dunlin.inbox;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** How much stands in one inbox, a session's or a group's; the messages themselves are rows. */
final class Backlog {
  /*
   * Owner: the applying thread.
   * Bounds: messages and bytes by InboxLimits; Inboxes keeps to them.
   */
  final String tenant;

  /** What the keys of its messages begin with; made for the first message, which many sessions never get. Any thread. */
  private volatile byte @Nullable [] prefix;

  /** Whose inbox it is; null for a group's, and for what an ended session or group has left. */
  final @Nullable SessionState session;

  /** No message has a lower sequence; there may be none with this one. */
  long first;

  /** The sequence of the next message. */
  long next;

  int count;
  long bytes;

  Backlog(String tenant, byte[] prefix, long origin) {
    this.tenant = tenant;
    this.prefix = prefix;
    session = null;
    first = origin;
    next = origin;
  }

  Backlog(SessionState session, long origin) {
    this.tenant = session.key.tenant();
    this.session = session;
    first = origin;
    next = origin;
  }

  byte[] key(long sequence) {
    byte[] begins = prefix;
    if (begins == null) {
      SessionState owner = Objects.requireNonNull(session);
      prefix = begins = SessionKeys.sessionMessages(owner.key, owner.birth);
    }
    return SessionKeys.message(begins, sequence);
  }
}
