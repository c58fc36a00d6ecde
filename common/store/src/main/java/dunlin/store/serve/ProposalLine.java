package dunlin.store.serve;

import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A line in front of a range for callers that do not push back by themselves: what the full queue refuses waits here, and whatever comes
 * later goes behind it. So a full range makes its callers wait, and never changes the order of what one thread proposes.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public final class ProposalLine<C, R> {
  /*
   * Owner: any thread proposes. What waits is proposed by one thread at a time: the one that the range tells of room.
   * Bounds: commandsMax wait, one more is refused. Their bytes are the callers' to bound, who hold credit for them until they are told
   *   how a command ended. First come, first served, so that no thread is passed over.
   * Failure: a range that is closed, has failed or is led elsewhere fails what waits as it fails what is proposed.
   *
   * A command is counted before it is in the queue and until it is the range's. So a thread that finds the count at zero knows that
   * nothing of its own waits, and may go straight to the range.
   */
  private static final long AGAIN_MILLIS = 10;

  private final Range<C, R> range;
  private final int commandsMax;
  private final ConcurrentLinkedQueue<Waiting<C, R>> line = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final Runnable turn = this::turn;

  private record Waiting<C, R>(C command, Completion<R> completion, long sinceNanos) {}

  public ProposalLine(Range<C, R> range, int commandsMax) {
    this.range = range;
    this.commandsMax = commandsMax;
  }

  /**
   * Proposes a command, now or when there is room. Commands of one calling thread are applied in the order of its calls. Never blocks.
   * The command must not change.
   *
   * @return false when as many wait as may: the completion will not be called
   */
  public boolean propose(C command, Completion<R> completion) {
    int before = waiting.get();
    if (before == 0 && range.propose(command, completion)) return true;
    if (before >= commandsMax) return false;
    boolean first = waiting.getAndIncrement() == 0;
    line.add(new Waiting<>(command, completion, System.nanoTime()));
    if (first) ask();
    return true;
  }

  private void ask() {
    if (range.whenRoom(turn)) return;
    CompletableFuture.delayedExecutor(AGAIN_MILLIS, TimeUnit.MILLISECONDS).execute(turn);
  }

  private void turn() {
    do {
      var head = line.peek();
      if (head == null || !proposed(head)) { // counted and not there yet, or refused again
        ask();
        return;
      }
      line.remove();
    } while (waiting.decrementAndGet() > 0);
  }

  /** Whether the range has taken it. One that cannot even be proposed must not stop the line. */
  private boolean proposed(Waiting<C, R> head) {
    try {
      return range.propose(head.command(), head.completion());
    } catch (RuntimeException e) {
      head.completion().failed(new StoreException("a command that waited could not be proposed: " + e, e));
      return true;
    }
  }

  /** Commands that wait; any thread. */
  public int waiting() {
    return waiting.get();
  }

  /** How long the first in the line has waited; 0 without any. Any thread. */
  public double oldestSeconds() {
    var head = line.peek();
    return head == null ? 0 : (System.nanoTime() - head.sinceNanos()) / 1e9;
  }
}
