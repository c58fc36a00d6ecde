package dunlin.inbox.server;

import dunlin.inbox.SessionRef;
import dunlin.inbox.range.RangeState;
import dunlin.inbox.range.SessionState;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
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
 * Finds messages of absent sessions whose Message Expiry Interval has passed, so that they are removed and counted though no client reads
 * them; MQTT 5, section 3.3.2.3.3. What it finds is acknowledged as expired by the log, like what a reader finds.
 */
final class SessionExpirySweep {
  /*
   * Owner: one step at a time, on a reader's thread; turn() sees to both. It walks over all sessions again and again.
   * An inbox knows when the next of its messages can expire (Backlog.expiresNext), so one without such messages costs a look.
   * Bounds: a step looks at SESSIONS_MAX sessions and reads HEADERS_MAX headers; an inbox with more is gone on with in the next
   * step. It keeps a place among the sessions and one in an inbox.
   * Failure: readers that are busy are asked again at the next turn. What is proposed and lost is found again when the inbox is read or its client comes; a session that has come back
   * meanwhile has another epoch, and nothing happens to it here.
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
                  LOG.warn("Expired messages could not be looked for: {}", e.getMessage());
                } finally {
                  stepping.set(false);
                }
              });
    } catch (RejectedExecutionException busy) {
      stepping.set(false); // there is time
    }
  }

  /** Goes on where the step before has ended. */
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
      // What is appended from here on tells itself when it expires.
      inbox.expiresNoLonger();
      headers -= sweep(rows, session, 0, headers, now);
    }
  }

  /** Answers how many headers it has read. */
  private int sweep(RangeReader rows, SessionState session, long first, int max, long now) {
    long epoch = session.epoch();
    var inbox = session.backlogIfAny();
    // The epoch first: a connection that has come since has raised it.
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
          // An exchange that may have begun goes on whatever its expiry [MQTT-4.3.3-7, -13].
          if (stored.expiresAt() == StoredMessage.NEVER || sequence < sentBelow) return true;
          if (stored.expired(now)) late.add(sequence);
          else inbox.expires(stored.expiresAt());
          return true;
        });
    // What was appended a moment ago may not be seen yet.
    if (unfinished == null && last[0] < next - 1 && inbox.count() > 0) inbox.expires(now + LOOK_AGAIN_MILLIS);
    if (!late.isEmpty()) {
      var ref = new SessionRef(session.key.tenant(), session.key.clientId(), epoch);
      expired.expired(ref, late.stream().mapToLong(Long::longValue).toArray());
    }
    return read[0];
  }
}
