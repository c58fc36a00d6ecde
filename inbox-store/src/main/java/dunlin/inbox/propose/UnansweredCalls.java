package dunlin.inbox.propose;

import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxSettings;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;

/**
 * The memory of the SUBSCRIBEs and UNSUBSCRIBEs that a node's ranges have not answered: from the call until its command is applied and the routes are
 * announced. A frontend and the log bound the bytes that are sent and written; the objects of a short topic filter are twenty times as large.
 */
public final class UnansweredCalls {
  /*
   * Owner: any thread.
   * Bounds: an eighth of the memory that sessions may have, over all ranges that the node leads. A SUBSCRIBE is refused when it would take more than half of
   * what is left, so that large ones are refused first and small ones find room; one alone is always taken. An UNSUBSCRIBE counts and is never refused: it
   * frees more than it takes. So the sum can be exceeded by one SUBSCRIBE and by the UNSUBSCRIBEs.
   * Failure: what a leadership has not answered when it ends is given back with it, since its links have the calls repeated elsewhere.
   */
  private static final int PART_OF_MEMORY = 8;

  /** Estimated heap of a topic filter with its options, its route and its places in lists. */
  private static final int FILTER_BYTES = 256;

  private static final int TEXTS = 2;

  private final long bytesMax;
  private final AtomicLong bytes = new AtomicLong();
  private final LongAdder refused = new LongAdder();

  public UnansweredCalls(InboxSettings settings) {
    bytesMax = settings.sums().memory() / PART_OF_MEMORY;
  }

  /** Of one leadership. */
  public Share share() {
    return new Share();
  }

  /** The calls that one leadership has not answered. */
  public final class Share implements AutoCloseable {
    private static final long CLOSED = -1;

    /** Bytes; CLOSED in the end. */
    private final AtomicLong held = new AtomicLong();

    /** Makes the call of a SUBSCRIBE, or fails at once if there is no memory for it. */
    public <T> CompletableFuture<T> subscribe(List<Subscription> subscriptions, Supplier<CompletableFuture<T>> call) {
      long more = 0;
      for (Subscription each : subscriptions) more += bytesOf(each.filter());
      if (!take(more)) {
        refused.increment();
        return CompletableFuture.failedFuture(Proposals.tooMany());
      }
      return giving(more, call);
    }

    /** Makes the call of an UNSUBSCRIBE. */
    public <T> CompletableFuture<T> unsubscribe(List<TopicFilter> filters, Supplier<CompletableFuture<T>> call) {
      long more = 0;
      for (TopicFilter each : filters) more += bytesOf(each);
      bytes.addAndGet(more);
      return giving(more, call);
    }

    private <T> CompletableFuture<T> giving(long taken, Supplier<CompletableFuture<T>> call) {
      if (held.getAndUpdate(before -> before == CLOSED ? CLOSED : before + taken) == CLOSED) bytes.addAndGet(-taken);
      CompletableFuture<T> answer;
      try {
        answer = call.get();
      } catch (RuntimeException e) {
        give(taken);
        throw e;
      }
      var _ = answer.whenComplete((_, _) -> give(taken));
      return answer;
    }

    private void give(long taken) {
      if (held.getAndUpdate(before -> before == CLOSED ? CLOSED : before - taken) != CLOSED) bytes.addAndGet(-taken);
    }

    /** The leadership ends: what it has not answered counts no more. */
    @Override
    public void close() {
      long left = held.getAndSet(CLOSED);
      if (left != CLOSED) bytes.addAndGet(-left);
    }
  }

  private static long bytesOf(TopicFilter filter) {
    return FILTER_BYTES + (long) TEXTS * filter.length();
  }

  private boolean take(long more) {
    for (long before = bytes.get(); before == 0 || more <= (bytesMax - before) / 2; before = bytes.get()) {
      if (bytes.compareAndSet(before, before + more)) return true;
    }
    return false;
  }

  /** Estimated bytes that are held. */
  public long bytes() {
    return bytes.get();
  }

  /** SUBSCRIBEs that were refused. */
  public long refused() {
    return refused.sum();
  }
}
