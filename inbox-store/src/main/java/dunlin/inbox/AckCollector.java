package dunlin.inbox;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Gathers acknowledged sequences for each session, so that many of them become one command. */
final class AckCollector {
  /*
   * Owner: any thread adds; a stripe's lock guards it, also while its commands are proposed, which never blocks: that keeps
   * a session's acknowledgements in front of what is proposed after flush().
   * Bounds: each sequence stands for a stored message, so there are no more than inboxes hold. A session's are proposed at
   * BATCH of them, all of them every few milliseconds. Full range: they stay and are proposed next time.
   * Failure: what is lost in a crash is sent again with DUP.
   */
  private static final int STRIPES = 16;
  private static final int BATCH = 512;

  private final Proposer proposer;
  private final Stripe[] stripes = new Stripe[STRIPES];
  private final AtomicInteger waiting = new AtomicInteger();

  /** Proposes an Acknowledge; false when the range's queue is full. */
  @FunctionalInterface
  interface Proposer {
    boolean propose(SessionCommand.Acknowledge command);
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
    private final Map<Owner, Sequences> sessions = new LinkedHashMap<>();
  }

  AckCollector(Proposer proposer) {
    this.proposer = proposer;
    for (int i = 0; i < STRIPES; i++) stripes[i] = new Stripe();
  }

  /** How many sequences wait to be proposed. */
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

  /** Proposes what was gathered for a client identifier, so that it applies before what the caller proposes next. */
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

  /** Proposes all that was gathered, as far as the range takes it. */
  void flushAll() {
    if (waiting.get() == 0) return;
    for (Stripe stripe : stripes) {
      synchronized (stripe) {
        stripe.sessions.entrySet().removeIf(each -> propose(each.getKey(), each.getValue()));
      }
    }
  }

  private boolean propose(Owner owner, Sequences gathered) {
    var command = new SessionCommand.Acknowledge(owner.session(), gathered.toArray(), owner.expired());
    if (!proposer.propose(command)) return false;
    waiting.addAndGet(-gathered.size);
    return true;
  }

  private Stripe stripe(String clientId) {
    return stripes[Math.floorMod((clientId.hashCode() * 0x9E3779B9) >>> 16, STRIPES)];
  }
}
