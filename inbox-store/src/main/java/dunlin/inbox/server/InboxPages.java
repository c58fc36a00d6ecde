package dunlin.inbox.server;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.SessionState;
import dunlin.model.QoS;
import dunlin.store.RangeReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Reads pages of a session's inbox from its rows: headers first, then the messages. */
public final class InboxPages {
  /*
   * Owner: the range's reader threads; stateless.
   * Bounds: the caller bounds the page; expired messages in between are skipped, at most EXPIRED_MAX of them per page.
   */
  private static final int EXPIRED_MAX = 1_000;

  private final Expired expired;

  /** Called with the messages that were found expired. */
  @FunctionalInterface
  public interface Expired {
    void expired(SessionRef session, long[] sequences);
  }

  public InboxPages(Expired expired) {
    this.expired = expired;
  }

  /** @param handed the highest sequence that may have been handed to the session's connection before */
  public Page read(
      RangeReader rows, SessionState session, SessionRef ref, long handed, long from, int messagesMax, int bytesMax, long now) {
    var inbox = session.backlogIfAny();
    if (inbox == null) return new Page(List.of(), Math.max(1, from), true);
    var found = new ArrayList<Found>();
    var late = new ArrayList<Long>();
    long sentBelow = inbox.sentBelow();
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
          var stored = StoredMessage.read(value);
          scan.next = sequence + 1;
          // An exchange that may have begun continues whatever its expiry [MQTT-4.3.3-7, -13].
          boolean begun = sequence < sentBelow || (stored.qos() == QoS.EXACTLY_ONCE && sequence <= handed);
          if (stored.expired(now) && !begun) {
            late.add(sequence);
            return true;
          }
          scan.bytes += stored.size();
          found.add(new Found(sequence, stored, late.size()));
          return true;
        });
    if (!late.isEmpty()) expired.expired(ref, late.stream().mapToLong(Long::longValue).toArray());
    var messages = messages(rows, session, inbox, found, sentBelow);
    if (!found.isEmpty()) inbox.handed(found.getLast().sequence());
    return new Page(messages, scan.next, scan.ended);
  }

  /**
   * The header of a message to be sent.
   *
   * @param lateBefore number of expired messages that were skipped in front of it
   */
  private record Found(long sequence, StoredMessage stored, int lateBefore) {
    /** Whether the contents of both can be read in one scan, without much else between them. */
    private boolean follows(Found before) {
      return isOwn() && before.isOwn() && lateBefore == before.lateBefore;
    }

    private boolean isOwn() {
      return stored.bodyId() == StoredMessage.OWN;
    }
  }

  private static final class Scan {
    private long next;
    private long bytes;
    private boolean ended = true;

    Scan(long next) {
      this.next = next;
    }
  }

  /**
   * Reads the messages of headers. Messages that were dropped or acknowledged since their header was read are left out.
   */
  private static List<InboxMessage> messages(
      RangeReader rows, SessionState session, Backlog inbox, List<Found> found, long sentBelow) {
    var messages = new ArrayList<InboxMessage>(found.size());
    for (int i = 0; i < found.size(); ) {
      int end = i + 1;
      while (end < found.size() && found.get(end).follows(found.get(end - 1))) end++;
      var stretch = found.subList(i, end);
      if (stretch.getFirst().isOwn()) readContents(rows, inbox, stretch, sentBelow, messages);
      else readBody(rows, session, stretch.getFirst(), sentBelow, messages);
      i = end;
    }
    return messages;
  }

  private static void readContents(
      RangeReader rows, Backlog inbox, List<Found> stretch, long sentBelow, List<InboxMessage> messages) {
    var wanted = stretch.iterator();
    var next = new AtomicReference<@Nullable Found>(wanted.next());
    rows.scan(
        SessionKeys.content(inbox.key(stretch.getFirst().sequence())),
        SessionKeys.content(inbox.key(stretch.getLast().sequence() + 1)),
        (key, value) -> {
          long sequence = SessionKeys.sequence(key);
          var each = next.get();
          while (each != null && each.sequence() < sequence) each = wanted.hasNext() ? wanted.next() : null;
          if (each != null && each.sequence() == sequence) {
            messages.add(message(each, value, sentBelow));
            each = wanted.hasNext() ? wanted.next() : null;
          }
          next.set(each);
          return each != null;
        });
  }

  private static void readBody(
      RangeReader rows, SessionState session, Found found, long sentBelow, List<InboxMessage> messages) {
    byte[] body = rows.get(SessionKeys.body(session.key.tenant(), found.stored().bodyId()));
    if (body != null) messages.add(message(found, body, sentBelow));
  }

  private static InboxMessage message(Found found, byte[] bytes, long sentBelow) {
    var stored = found.stored();
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
