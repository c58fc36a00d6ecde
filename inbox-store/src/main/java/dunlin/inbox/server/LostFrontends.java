package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Has the range treat the connections of lives of frontends that are over as lost, a step at a time for each frontend, until it has done so. */
final class LostFrontends {
  /*
   * Owner: any thread, under this object's lock, which is not held while a step is proposed or a future completes.
   * Bounds: LOSSES_MAX frontends; one more is refused, and its caller reports it again. Each has one step at a time in the range's queue.
   * Failure: what the range refuses is proposed again by the timer, AGAIN_MAX frontends at a time, those that have waited for the longest first. After a crash
   *   a frontend attaches in a later life, or does not come within its lease: both report it again.
   */
  static final int LOSSES_MAX = 4_096;

  private static final int AGAIN_MAX = 64;

  private final Proposer proposer;
  @GuardedBy("this")
  private final Map<String, Loss> losses = new LinkedHashMap<>();
  @GuardedBy("this")
  private boolean closed;

  /** Proposes a step. */
  @FunctionalInterface
  interface Proposer {
    /**
     * @param before the connections of lives with a lower number are lost
     */
    void propose(String frontend, long before, Ended ended);
  }

  /** How a step ends; one of these, once. */
  interface Ended {
    /** @param more whether there are more such connections */
    void done(boolean more);

    void failed(StoreException failure);
  }

  /** That all lives of a frontend up to one are over. */
  static final class Loss {
    private final String frontend;

    /** Completes when the range has recorded it. */
    private final CompletableFuture<Void> recorded = new CompletableFuture<>();

    // Guarded by the lock of LostFrontends.
    private long before;
    private boolean proposed;
    private CompletableFuture<Void> attempt = new CompletableFuture<>();

    private Loss(String frontend) {
      this.frontend = frontend;
    }

    CompletableFuture<Void> recorded() {
      return recorded;
    }
  }

  /** A loss, and what completes when the range has recorded it, or fails with the next step that does. */
  record Attempt(Loss loss, CompletableFuture<Void> ended) {}

  LostFrontends(Proposer proposer) {
    this.proposer = proposer;
  }

  synchronized int waiting() {
    return losses.size();
  }

  /**
   * Notes that all lives of a frontend before one are over. It is proposed by {@link #propose}, which the caller calls without its locks.
   *
   * @throws StoreException when there are too many of them, and then it is not noted
   */
  synchronized Attempt note(String frontend, long before) {
    if (closed) throw new StoreException("the session tier is closed");
    var loss = losses.get(frontend);
    if (loss == null) {
      if (losses.size() == LOSSES_MAX) throw new StoreException("too many frontends are lost");
      loss = new Loss(frontend);
      losses.put(frontend, loss);
    }
    loss.before = Math.max(loss.before, before);
    return new Attempt(loss, loss.attempt);
  }

  /** Proposes what was noted, unless a step of it is proposed already; then the next one has what has come to it. */
  void propose(Loss loss) {
    if (begin(loss)) step(loss);
  }

  private synchronized boolean begin(Loss loss) {
    if (loss.proposed || losses.get(loss.frontend) != loss) return false;
    loss.proposed = true;
    return true;
  }

  private void step(Loss loss) {
    long before;
    synchronized (this) {
      before = loss.before;
    }
    var ended =
        new Ended() {
          @Override
          public void done(boolean more) {
            var attempt = more ? null : end(loss, before);
            if (attempt == null) {
              step(loss);
              return;
            }
            loss.recorded.complete(null); // its loss is known before its next life is attached
            attempt.complete(null);
          }

          @Override
          public void failed(StoreException failure) {
            refused(loss, failure);
          }
        };
    proposer.propose(loss.frontend, before, ended);
  }

  /** Answers who waits for it, or null when a later life has been lost since the step was proposed. */
  private synchronized @Nullable CompletableFuture<Void> end(Loss loss, long before) {
    if (loss.before > before) return null;
    losses.remove(loss.frontend, loss);
    return loss.attempt;
  }

  private void refused(Loss loss, StoreException failure) {
    CompletableFuture<Void> failed;
    synchronized (this) {
      failed = loss.attempt;
      loss.attempt = new CompletableFuture<>();
      loss.proposed = false;
      // Behind those that have waited for longer; unless close() has taken it out.
      if (losses.remove(loss.frontend, loss)) losses.put(loss.frontend, loss);
    }
    failed.completeExceptionally(failure);
  }

  /** Proposes again what was refused. By the timer. */
  void again() {
    for (Loss loss : waitingLongest()) propose(loss);
  }

  private synchronized List<Loss> waitingLongest() {
    var next = new ArrayList<Loss>();
    for (Loss loss : losses.values()) {
      if (next.size() == AGAIN_MAX) break;
      if (!loss.proposed) next.add(loss);
    }
    return next;
  }

  /** Fails all that wait. */
  void close() {
    List<Attempt> left;
    synchronized (this) {
      closed = true;
      left = losses.values().stream().map(loss -> new Attempt(loss, loss.attempt)).toList();
      losses.clear();
    }
    var closing = new StoreException("the session tier was closed");
    for (Attempt each : left) {
      each.ended().completeExceptionally(closing);
      each.loss().recorded.completeExceptionally(closing);
    }
  }

  /** What ends in several ranges: it has when it has in each of them, and has failed if it has in any. */
  static Ended inAll(int ranges, Ended ended) {
    return new InAll(ranges, ended);
  }

  private static final class InAll implements Ended {
    private final Ended ended;

    @GuardedBy("this")
    private int left;

    @GuardedBy("this")
    private boolean more;

    @GuardedBy("this")
    private @Nullable StoreException failure;

    InAll(int ranges, Ended ended) {
      this.ended = ended;
      left = ranges;
    }

    @Override
    public void done(boolean anyMore) {
      one(anyMore, null);
    }

    @Override
    public void failed(StoreException reason) {
      one(false, reason);
    }

    private void one(boolean anyMore, @Nullable StoreException reason) {
      boolean anyRangeHasMore;
      StoreException lastFailure;
      synchronized (this) {
        more |= anyMore;
        if (reason != null) failure = reason;
        if (--left > 0) return;
        anyRangeHasMore = more;
        lastFailure = failure;
      }
      if (lastFailure != null) ended.failed(lastFailure);
      else ended.done(anyRangeHasMore);
    }
  }
}
