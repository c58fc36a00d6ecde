package dunlin.inbox;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Page;
import dunlin.store.RangeReader;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads pages of a session's inbox from its rows. */
final class InboxReader {
  /*
   * Owner: the range's reader threads; keeps nothing of its own.
   * Bounds: a page by its caller; expired messages in between are passed over, at most EXPIRED_MAX of them a page.
   */
  private static final int EXPIRED_MAX = 1_000;

  private final Expired expired;

  /** Told which messages have expired while they waited. */
  @FunctionalInterface
  interface Expired {
    void expired(SessionRef session, long[] sequences);
  }

  InboxReader(Expired expired) {
    this.expired = expired;
  }

  private record Found(long sequence, StoredMessage.Row row) {}

  Page read(
      RangeReader rows, SessionState session, SessionRef ref, long from, int messagesMax, int bytesMax, long now) {
    var inbox = session.backlogIfAny();
    if (inbox == null) return new Page(List.of(), Math.max(1, from), true);
    var found = new ArrayList<Found>();
    var late = new ArrayList<Long>();
    long sentBelow = inbox.sentBelow;
    var scan = new Scan(Math.max(1, from));
    rows.scan(
        inbox.key(scan.next),
        inbox.key(-1),
        (key, value) -> {
          if (found.size() >= messagesMax || scan.bytes > bytesMax || late.size() >= EXPIRED_MAX) {
            scan.ended = false;
            return false;
          }
          long sequence = SessionKeys.sequence(key);
          var row = StoredMessage.read(value);
          scan.next = sequence + 1;
          // An exchange that may have begun goes on whatever its expiry [MQTT-4.3.3-7, -13].
          if (row.stored().expired(now) && sequence >= sentBelow) {
            late.add(sequence);
            return true;
          }
          scan.bytes += row.stored().size();
          found.add(new Found(sequence, row));
          return true;
        });
    if (!late.isEmpty()) expired.expired(ref, late.stream().mapToLong(Long::longValue).toArray());
    var messages = new ArrayList<InboxMessage>(found.size());
    for (Found each : found) {
      var message = message(rows, session, each, sentBelow);
      if (message != null) messages.add(message);
    }
    if (!found.isEmpty()) inbox.handed(found.getLast().sequence());
    return new Page(messages, scan.next, scan.ended);
  }

  private static final class Scan {
    private long next;
    private long bytes;
    private boolean ended = true;

    Scan(long next) {
      this.next = next;
    }
  }

  private static @Nullable InboxMessage message(RangeReader rows, SessionState session, Found found, long sentBelow) {
    var stored = found.row().stored();
    byte[] bytes = found.row().inline();
    if (stored.bodyId() != StoredMessage.INLINE) {
      bytes = rows.get(SessionKeys.body(session.key.tenant(), stored.bodyId()));
      if (bytes == null) return null; // dropped or acknowledged since its row was read
    }
    return new InboxMessage(
        found.sequence(),
        stored.qos(),
        stored.retain(),
        stored.released(),
        found.sequence() < sentBelow,
        stored.identifiers(),
        StoredMessage.message(bytes));
  }
}
