package dunlin.inbox.server;

import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds expired messages of offline sessions, so that they are removed and counted although no client reads them; MQTT
 * 5, section 3.3.2.3.3. Like the expired messages that a reader finds, they are acknowledged as expired through the
 * log.
 */
final class SessionExpirySweep {
  /*
   * Owner: one step at a time, on a reader's thread; turn() ensures both. The sweep passes over all sessions
   * repeatedly. An inbox knows when the next of its messages can expire (Backlog.expiresNext), so an inbox without such
   * messages costs only a check.
   * Bounds: a step checks SESSIONS_MAX sessions and reads HEADERS_MAX headers; an inbox with more headers is continued
   * in the next step. The sweep keeps a position among the sessions and one in an inbox.
   * Failure: if the readers are busy, the next turn tries again. A proposal that is lost is made again when the inbox
   * is read or its client connects. A session that has reconnected since has another epoch, so the proposal does
   * not affect it.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SessionExpirySweep.class);
  private static final int SESSIONS_MAX = 20_000;
  static final int HEADERS_MAX = 1_000;
  private static final long LOOK_AGAIN_MILLIS = 60_000;

  private final RangeState state;
  private final InboxPages.Expired expired;
  private final AtomicBoolean stepping = new AtomicBoolean();

  private Iterator<SessionState> sessions;
  private @Nullable SessionState unfinished;
  private long from;

  SessionExpirySweep(RangeState state, InboxPages.Expired expired) {
    this.state = state;
    this.expired = expired;
    sessions = state.sessions.values().iterator();
  }

  /** One turn of the timer: takes a step unless one is being taken. */
  void turn(Range<?, ?> range, long now) {
    if (!stepping.compareAndSet(false, true)) return;
    try {
      range
          .readers()
          .execute(
              () -> {
                try {
                  step(range.reader(), now);
                } catch (RuntimeException e) {
                  LOG.warn("Expired messages could not be searched for: {}", e.getMessage());
                } finally {
                  stepping.set(false);
                }
              });
    } catch (RejectedExecutionException busy) {
      stepping.set(false); // the next turn is early enough
    }
  }

  /** Continues where the previous step ended. */
  void step(RangeReader rows, long now) {
    int headers = HEADERS_MAX;
    var before = unfinished;
    unfinished = null;
    if (before != null) headers -= sweep(rows, before, from, headers, now);
    for (int i = 0; i < SESSIONS_MAX && headers > 0; i++) {
      if (!sessions.hasNext()) {
        sessions = state.sessions.values().iterator();
        return;
      }
      var session = sessions.next();
      var inbox = session.backlogIfAny();
      if (session.owner() != null || inbox == null || inbox.expiresNext() > now) continue;
      // Messages appended from here on report their own expiry.
      inbox.expiresNoLonger();
      headers -= sweep(rows, session, 0, headers, now);
    }
  }

  /** Searches one inbox. Answers how many headers were read. */
  private int sweep(RangeReader rows, SessionState session, long first, int max, long now) {
    long epoch = session.epoch();
    var inbox = session.backlogIfAny();
    // Read the epoch first: a connection that is made after that raises it.
    if (session.owner() != null || inbox == null) return 0;
    var late = new ArrayList<Long>();
    long sentBelow = inbox.sentBelow();
    long next = inbox.next();
    long[] last = {0};
    int[] read = {0};
    rows.scan(
        inbox.key(first),
        inbox.key(-1),
        (key, value) -> {
          long sequence = SessionKeys.sequence(key);
          if (read[0] == max) {
            unfinished = session;
            from = sequence;
            return false;
          }
          read[0]++;
          last[0] = sequence;
          var stored = StoredMessage.read(value);
          // An exchange that may have begun continues whatever its expiry [MQTT-4.3.3-7, -13].
          if (stored.expiresAt() == StoredMessage.NEVER || sequence < sentBelow) return true;
          if (stored.expired(now)) late.add(sequence);
          else inbox.expires(stored.expiresAt());
          return true;
        });
    // Messages that were appended just now may not be visible yet.
    if (unfinished == null && last[0] < next - 1 && inbox.count() > 0) inbox.expires(now + LOOK_AGAIN_MILLIS);
    if (!late.isEmpty()) {
      var ref = new SessionRef(session.key.tenant(), session.key.clientId(), epoch);
      expired.expired(ref, late.stream().mapToLong(Long::longValue).toArray());
    }
    return read[0];
  }
}
