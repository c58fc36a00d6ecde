package dunlin.broker.connect;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.runtime.Failures;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Reports ended connections to the session tier, until it has recorded them. While a session counts as connected there,
 * its will is not published, it does not expire, and it is given messages of its shared subscriptions.
 */
public final class Leaving {
  /*
   * Owner: any thread adds; a lock guards the records and is not held while the session tier is called.
   * Bounds: one small record for each session that is connected only in the view of the session tier, and one for each
   * DISCONNECT of an earlier connection whose first report is not answered yet. Refused calls
   * wait for again(), which repeats AGAIN_MAX at a time, the earliest first, and the next one as soon as one is done.
   * Failure: a report is repeated until it succeeds. If another connection has taken over the session, the session tier
   * detects that by the epoch, which ends the report as well. If the process ends before, the next start ends these
   * connections, because they belong to an earlier life.
   */
  private static final int AGAIN_MAX = 64;

  private final Tier tier;
  private final Runnable refusal;

  /** All records that are not reported yet, by the numbers of the connections. */
  @GuardedBy("this")
  private final Map<Long, Left> left = new LinkedHashMap<>();

  /** The records whose report was refused. */
  @GuardedBy("this")
  private final Map<Long, Left> refused = new LinkedHashMap<>();

  @GuardedBy("this")
  private int askedAgain;
  @GuardedBy("this")
  private @Nullable CompletableFuture<Void> allTold;

  /** For each client, the connection that ended last. */
  @GuardedBy("this")
  private final Map<Client, Long> latest = new HashMap<>();

  /** The session tier, which is called by {@link dunlin.inbox.InboxClient#disconnect}. */
  @FunctionalInterface
  public interface Tier {
    CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds);
  }

  /** A session whose connection has ended. */
  private record Left(SessionRef ref, boolean publishWill, long sessionExpirySeconds, CompletableFuture<Void> told) {
    Client client() {
      return new Client(ref.tenant(), ref.clientId());
    }
  }

  private record Client(String tenant, String clientId) {}

  /** @param refusal called each time that the session tier refuses a report */
  public Leaving(Tier tier, Runnable refusal) {
    this.tier = tier;
    this.refusal = refusal;
  }

  /**
   * Notes that the connection of a session has ended; {@link #tell} follows. If the client has an earlier record, this
   * connection had displaced that one. Then only a DISCONNECT is still reported, once, so that its will is discarded.
   */
  void begin(long connection, SessionRef ref, boolean publishWill, long sessionExpirySeconds) {
    Left displaced = note(connection, new Left(ref, publishWill, sessionExpirySeconds, new CompletableFuture<>()));
    if (displaced != null) displaced.told().complete(null);
  }

  /** Answers the record that this one makes superfluous, or null. */
  private synchronized @Nullable Left note(long connection, Left one) {
    Long before = latest.get(one.client());
    Left other = before == null ? null : left.get(before);
    boolean displacedItself = other != null && other.ref().epoch() > one.ref().epoch();
    if (displacedItself && one.publishWill()) return null;
    left.put(connection, one);
    if (displacedItself) return null;
    latest.put(one.client(), connection);
    if (other == null || (!other.publishWill() && !refused.containsKey(before))) return null;
    refused.remove(before);
    return left.remove(before);
  }

  /** Reports a connection to the session tier. */
  void tell(long connection) {
    Left each;
    synchronized (this) {
      each = left.get(connection);
    }
    if (each != null) tell(connection, each, false);
  }

  /** Completes when a connection need not be reported any more; at once for one that has not ended. */
  synchronized CompletableFuture<Void> told(long connection) {
    Left one = left.get(connection);
    return one == null ? CompletableFuture.completedFuture(null) : one.told();
  }

  /** Number of ended connections that are not reported yet. */
  public synchronized int waiting() {
    return left.size();
  }

  /** Whether a connection still has to be reported. */
  synchronized boolean knows(long connection) {
    return left.containsKey(connection);
  }

  /** Completes when all connections are reported that have ended by now. */
  public synchronized CompletableFuture<Void> whenAllTold() {
    if (left.isEmpty()) return CompletableFuture.completedFuture(null);
    if (allTold == null) allTold = new CompletableFuture<>();
    return allTold;
  }

  /** Repeats refused reports. */
  public void again() {
    List<Map.Entry<Long, Left>> turn = new ArrayList<>();
    synchronized (this) {
      for (var each : refused.entrySet()) {
        if (askedAgain == AGAIN_MAX) break;
        askedAgain++;
        turn.add(Map.entry(each.getKey(), each.getValue()));
      }
      for (var each : turn) refused.remove(each.getKey());
    }
    for (var each : turn) tell(each.getKey(), each.getValue(), true);
  }

  private void tell(long connection, Left each, boolean again) {
    Failures.inFuture(() -> tier.disconnect(each.ref(), each.publishWill(), each.sessionExpirySeconds()))
        .whenComplete((_, failure) -> answered(connection, each, again, failure));
  }

  private void answered(long connection, Left each, boolean again, @Nullable Throwable failure) {
    Throwable cause = failure == null ? null : Failures.unwrapped(failure);
    boolean done = cause == null || cause instanceof StaleSessionException;
    Map.Entry<Long, Left> next = null;
    CompletableFuture<Void> last = null;
    synchronized (this) {
      if (again) askedAgain--;
      if (done) {
        left.remove(connection);
        latest.remove(each.client(), connection);
        if (again) next = nextRefused();
      } else if (left.containsKey(connection)) {
        refused.put(connection, each);
      }
      if (left.isEmpty()) {
        last = allTold;
        allTold = null;
      }
    }
    if (done) each.told().complete(null);
    else refusal.run();
    if (last != null) last.complete(null);
    if (next != null) tell(next.getKey(), next.getValue(), true);
  }

  @GuardedBy("this")
  private Map.@Nullable Entry<Long, Left> nextRefused() {
    var entries = refused.entrySet().iterator();
    if (!entries.hasNext()) return null;
    var next = entries.next();
    Map.Entry<Long, Left> taken = Map.entry(next.getKey(), next.getValue());
    entries.remove();
    askedAgain++;
    return taken;
  }
}
