package dunlin.store.serve;

import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * A queue in front of a range, for callers that cannot push back themselves. Commands that the full range refuses wait
 * here, and later ones line up behind them. So a full range makes its callers wait, and never changes the order of one
 * thread's commands.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public final class ProposalLine<C, R> {
  /*
   * Owner: any thread proposes. Waiting commands are proposed by one thread at a time: the one on which the range
   * reports room.
   * Bounds: commandsMax wait, one more is refused. The callers bound their bytes, by credit that they hold until a
   * command has ended. First come, first served, so that no thread starves.
   * Failure: a range that is closed, has failed or is led elsewhere fails waiting commands like new ones.
   *
   * A command is counted from before it is queued until the range has accepted it. So a thread that finds the count at
   * zero knows that none of its own commands waits, and may propose directly to the range.
   */
  private static final long AGAIN_MILLIS = 10;

  private final Proposer<C, R> proposer;
  private final Predicate<Runnable> room;
  private final int commandsMax;
  private final ConcurrentLinkedQueue<Waiting<C, R>> line = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final Runnable turn = this::turn;

  private record Waiting<C, R>(C command, Completion<R> completion, long sinceNanos) {}

  /** Proposes as {@link Range#propose} does. */
  @FunctionalInterface
  public interface Proposer<C, R> {
    boolean propose(C command, Completion<R> completion);
  }

  public ProposalLine(Range<C, R> range, int commandsMax) {
    this(range::propose, range::whenRoom, commandsMax);
  }

  /**
   * In front of what stands before a range.
   *
   * @param room {@link Range#whenRoom}
   */
  public ProposalLine(Proposer<C, R> proposer, Predicate<Runnable> room, int commandsMax) {
    this.proposer = proposer;
    this.room = room;
    this.commandsMax = commandsMax;
  }

  /**
   * Proposes a command, now or when there is room. Commands of one calling thread are applied in the order of its calls. Never blocks.
   * The command must not change.
   *
   * @return false when commandsMax wait already: the completion will not be called
   */
  public boolean propose(C command, Completion<R> completion) {
    int before = waiting.get();
    if (before == 0 && proposer.propose(command, completion)) return true;
    if (before >= commandsMax) return false;
    boolean first = waiting.getAndIncrement() == 0;
    line.add(new Waiting<>(command, completion, System.nanoTime()));
    if (first) ask();
    return true;
  }

  private void ask() {
    if (room.test(turn)) return;
    CompletableFuture.delayedExecutor(AGAIN_MILLIS, TimeUnit.MILLISECONDS).execute(turn);
  }

  private void turn() {
    do {
      var head = line.peek();
      if (head == null || !proposed(head)) { // counted but not queued yet, or refused again
        ask();
        return;
      }
      line.remove();
    } while (waiting.decrementAndGet() > 0);
  }

  /** Whether the range has accepted the command. One whose proposal throws must not block the queue. */
  private boolean proposed(Waiting<C, R> head) {
    try {
      return proposer.propose(head.command(), head.completion());
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
