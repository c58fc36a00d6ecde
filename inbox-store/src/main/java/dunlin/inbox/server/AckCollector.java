package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.SessionCommand;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Collects acknowledged sequences of each session, so that many of them become one command, and proposes them until
 * they are recorded.
 */
final class AckCollector {
  /*
   * Owner: any thread adds. A lock guards each stripe, also while its commands are proposed, which never blocks; so a
   * session's acknowledgements are in front of anything that is proposed after flush().
   * Bounds: each sequence stands for a stored message, so there are no more than inboxes hold messages. A session's
   * sequences are proposed when there are BATCH of them; those of all sessions are proposed every few milliseconds. If
   * the range is full, they stay and are proposed next time.
   * Failure: a command that the range refuses later waits for again(), which proposes AGAIN_MAX at a time, and the next
   * one as soon as one is recorded. If the session has a later epoch by then, its command is dropped. Acknowledgements
   * that a crash loses only cause the messages to be sent again with DUP.
   */
  private static final int STRIPES = 16;
  private static final int BATCH = 512;
  private static final int AGAIN_MAX = 64;

  private final Proposer proposer;
  private final Predicate<SessionRef> current;
  private final Stripe[] stripes = new Stripe[STRIPES];
  private final AtomicInteger waiting = new AtomicInteger();

  /** No other lock is taken under its own. */
  @GuardedBy("refused")
  private final ArrayDeque<SessionCommand.Acknowledge> refused = new ArrayDeque<>();

  private final AtomicInteger proposedAgain = new AtomicInteger();

  /** Proposes an Acknowledge. Answers false if the range's queue is full; then {@code ended} is not called. */
  @FunctionalInterface
  interface Proposer {
    boolean propose(SessionCommand.Acknowledge command, Ended ended);
  }

  /** Called once with the outcome of a queued command. */
  @FunctionalInterface
  interface Ended {
    void ended(boolean applied);
  }

  private record Owner(SessionRef session, boolean expired) {}

  private static final class Sequences {
    private long[] values = new long[8];
    private int size;

    void add(long[] more) {
      if (size + more.length > values.length) values = Arrays.copyOf(values, Math.max(size * 2, size + more.length));
      System.arraycopy(more, 0, values, size, more.length);
      size += more.length;
    }

    long[] toArray() {
      return Arrays.copyOf(values, size);
    }
  }

  private static final class Stripe {
    @GuardedBy("this")
    private final Map<Owner, Sequences> sessions = new LinkedHashMap<>();
  }

  /** @param current whether a session still has the epoch that its acknowledgements name */
  AckCollector(Proposer proposer, Predicate<SessionRef> current) {
    this.proposer = proposer;
    this.current = current;
    for (int i = 0; i < STRIPES; i++) stripes[i] = new Stripe();
  }

  /** Number of sequences that wait to be proposed, for the first time or again. */
  int waiting() {
    return waiting.get();
  }

  void add(SessionRef session, long[] sequences, boolean expired) {
    if (sequences.length == 0) return;
    var owner = new Owner(session, expired);
    var stripe = stripe(session.clientId());
    synchronized (stripe) {
      var gathered = stripe.sessions.computeIfAbsent(owner, _ -> new Sequences());
      gathered.add(sequences);
      waiting.addAndGet(sequences.length);
      if (gathered.size >= BATCH && propose(owner, gathered)) stripe.sessions.remove(owner);
    }
  }

  /**
   * Proposes the acknowledgements of a client identifier, so that they are applied before what the caller proposes
   * next.
   */
  void flush(String clientId) {
    var stripe = stripe(clientId);
    synchronized (stripe) {
      stripe
          .sessions
          .entrySet()
          .removeIf(
              each -> each.getKey().session().clientId().equals(clientId) && propose(each.getKey(), each.getValue()));
    }
  }

  /** Proposes all acknowledgements, as far as the range accepts them. Answers whether it accepted all. */
  boolean flushAll() {
    boolean all = true;
    for (Stripe stripe : stripes) {
      synchronized (stripe) {
        stripe.sessions.entrySet().removeIf(each -> propose(each.getKey(), each.getValue()));
        all &= stripe.sessions.isEmpty();
      }
    }
    return all;
  }

  private boolean propose(Owner owner, Sequences gathered) {
    var command = new SessionCommand.Acknowledge(owner.session(), gathered.toArray(), owner.expired());
    boolean queued =
        proposer.propose(
            command,
            applied -> {
              if (!applied) refused(command);
            });
    if (!queued) return false;
    waiting.addAndGet(-gathered.size);
    return true;
  }

  private void refused(SessionCommand.Acknowledge command) {
    waiting.addAndGet(command.sequences().length);
    synchronized (refused) {
      refused.add(command);
    }
  }

  /** Proposes refused commands again. Called by the timer. */
  void again() {
    for (int i = proposedAgain.get(); i < AGAIN_MAX; i++) {
      if (!proposeNext()) return;
    }
  }

  /** Proposes the next refused command. Answers whether it was queued. */
  private boolean proposeNext() {
    var next = nextCurrent();
    if (next == null) return false;
    proposedAgain.incrementAndGet();
    boolean queued =
        proposer.propose(
            next,
            applied -> {
              proposedAgain.decrementAndGet();
              if (applied) proposeNext();
              else refused(next);
            });
    if (!queued) {
      proposedAgain.decrementAndGet();
      refused(next);
    }
    return queued;
  }

  private SessionCommand.@Nullable Acknowledge nextCurrent() {
    while (true) {
      SessionCommand.Acknowledge next;
      synchronized (refused) {
        next = refused.poll();
      }
      if (next == null) return null;
      waiting.addAndGet(-next.sequences().length);
      if (current.test(next.session())) return next;
    }
  }

  private Stripe stripe(String clientId) {
    return stripes[Math.floorMod((clientId.hashCode() * 0x9E3779B9) >>> 16, STRIPES)];
  }
}
