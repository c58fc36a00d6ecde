package dunlin.broker.connect;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Tells the session tier which connections have ended, until it knows: a session that it believes to be connected sends no will, does not
 * expire, and is given messages of its shared subscriptions.
 */
public final class Leaving {
  /*
   * Owner: any thread adds; its own lock guards what waits, and is not held while the session tier is called.
   * Bounds: one small record for each session that the session tier believes to be connected and that is not. What is refused waits for again(), who
   *   asks for AGAIN_MAX at a time, the first refused first, and for the next one as soon as one is done.
   * Failure: never given up. Another connection may have taken the session over since: the session tier says so by the epoch, and that
   *   ends it as well. What is left when the process ends is made up for at the next start, which knows its connections by their life.
   */
  private static final int AGAIN_MAX = 64;

  private final Tier tier;
  private final Runnable refusal;

  /** By the numbers of the connections: all that have not been told. */
  @GuardedBy("this")
  private final Map<Long, Left> left = new LinkedHashMap<>();

  /** Those of them that were refused. */
  @GuardedBy("this")
  private final Map<Long, Left> refused = new LinkedHashMap<>();

  @GuardedBy("this")
  private int askedAgain;
  @GuardedBy("this")
  private @Nullable CompletableFuture<Void> allTold;

  /** The connection of each client that was noted last. */
  @GuardedBy("this")
  private final Map<Client, Long> latest = new HashMap<>();

  /** The session tier, which {@link dunlin.inbox.InboxClient#disconnect} tells. */
  @FunctionalInterface
  public interface Tier {
    CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds);
  }

  /** A session whose connection has ended. */
  private record Left(SessionRef ref, boolean publishWill, long sessionExpirySeconds) {
    Client client() {
      return new Client(ref.tenant(), ref.clientId());
    }
  }

  private record Client(String tenant, String clientId) {}

  /**
   * @param refusal told each time that the session tier refuses to hear of one
   */
  public Leaving(Tier tier, Runnable refusal) {
    this.tier = tier;
    this.refusal = refusal;
  }

  /**
   * The connection of a session has ended; {@link #tell} follows. Of two connections of one client the later one has displaced the earlier
   * one, which nobody needs to be told of any more.
   */
  synchronized void begin(long connection, SessionRef ref, boolean publishWill, long sessionExpirySeconds) {
    var one = new Left(ref, publishWill, sessionExpirySeconds);
    Long before = latest.get(one.client());
    Left other = before == null ? null : left.get(before);
    if (before != null && other != null) {
      if (other.ref().epoch() > ref.epoch()) return;
      left.remove(before);
      refused.remove(before);
    }
    latest.put(one.client(), connection);
    left.put(connection, one);
  }

  /** Tells the session tier of a connection. */
  void tell(long connection) {
    Left each;
    synchronized (this) {
      each = left.get(connection);
    }
    if (each != null) tell(connection, each, false);
  }

  /** How many connections have ended without the session tier knowing it. */
  public synchronized int waiting() {
    return left.size();
  }

  /** Whether the session tier is still to be told of a connection. */
  synchronized boolean knows(long connection) {
    return left.containsKey(connection);
  }

  /** Completes when all have been told that had ended by now. */
  public synchronized CompletableFuture<Void> whenAllTold() {
    if (left.isEmpty()) return CompletableFuture.completedFuture(null);
    if (allTold == null) allTold = new CompletableFuture<>();
    return allTold;
  }

  /** Asks again for what was refused. */
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
    CompletableFuture<Void> told;
    try {
      told = tier.disconnect(each.ref(), each.publishWill(), each.sessionExpirySeconds());
    } catch (RuntimeException e) {
      told = CompletableFuture.failedFuture(e);
    }
    told.whenComplete((_, failure) -> answered(connection, each, again, failure));
  }

  private void answered(long connection, Left each, boolean again, @Nullable Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
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
    if (!done) refusal.run();
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
