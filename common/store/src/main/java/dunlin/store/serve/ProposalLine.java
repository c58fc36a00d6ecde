package dunlin.store.serve;

import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * A queue in front of a range, for callers that cannot push back themselves. Commands that the full range refuses wait
 * here, and later ones of the same source line up behind them. So a full range makes its callers wait, and never changes the order of one
 * thread's commands of one source.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public final class ProposalLine<C, R> {
  /*
   * Owner: any thread proposes. Waiting commands of a source are proposed by one thread at a time: the one on which the range
   * reports room.
   * Bounds: commandsMax wait, one more is refused. If Bytes are given, commands that have some are refused when they would exceed their sum; with several
   * calling threads, each may exceed it by one command. Else the callers bound the bytes, by credit that they hold until a command has ended. There is a line for each source with commands that wait. First come, first served within it, so that no thread starves; a source that the
   * range refuses (CommandQueue) does not hold up others.
   * Failure: a range that is closed, has failed or is led elsewhere fails waiting commands like new ones.
   *
   * A line is there from before its first command is queued until the range has accepted its last. So a thread that finds none
   * knows that none of its own commands waits, and may propose directly to the range.
   */
  private static final long AGAIN_MILLIS = 10;

  private final Proposer<C, R> proposer;
  private final Predicate<Runnable> room;
  private final Function<C, String> sourceOf;
  private final int commandsMax;
  private final Bytes<C> bytes;
  private final ConcurrentHashMap<String, Line> lines = new ConcurrentHashMap<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicLong waitingBytes = new AtomicLong();

  private record Waiting<C, R>(C command, Completion<R> completion, long bytes, long sinceNanos) {}

  /**
   * A bound on the bytes of the commands that wait.
   *
   * @param of what a command counts; 0 for one that is never refused for its bytes
   * @param max their sum
   */
  public record Bytes<C>(ToLongFunction<C> of, long max) {
    private static <C> Bytes<C> unbounded() {
      return new Bytes<>(_ -> 0, Long.MAX_VALUE);
    }
  }

  /** Proposes as {@link Range#propose} does. */
  @FunctionalInterface
  public interface Proposer<C, R> {
    boolean propose(C command, Completion<R> completion);
  }

  /** All commands keep their order. */
  public ProposalLine(Range<C, R> range, int commandsMax) {
    this(range, commandsMax, Bytes.unbounded());
  }

  /** The same with a bound on bytes. */
  public ProposalLine(Range<C, R> range, int commandsMax, Bytes<C> bytes) {
    this(range::propose, range::whenRoom, _ -> "", commandsMax, bytes);
  }

  /**
   * In front of what stands before a range.
   *
   * @param room {@link Range#whenRoom}
   * @param sourceOf whose command it is; those of one source keep their order
   */
  public ProposalLine(Proposer<C, R> proposer, Predicate<Runnable> room, Function<C, String> sourceOf, int commandsMax) {
    this(proposer, room, sourceOf, commandsMax, Bytes.unbounded());
  }

  private ProposalLine(Proposer<C, R> proposer, Predicate<Runnable> room, Function<C, String> sourceOf, int commandsMax, Bytes<C> bytes) {
    this.proposer = proposer;
    this.room = room;
    this.sourceOf = sourceOf;
    this.commandsMax = commandsMax;
    this.bytes = bytes;
  }

  /**
   * Proposes a command, now or when there is room. Commands of one calling thread and one source are applied in the order of its calls. Never blocks.
   * The command must not change.
   *
   * @return false when commandsMax wait already, or too many bytes: the completion will not be called
   */
  public boolean propose(C command, Completion<R> completion) {
    String source = sourceOf.apply(command);
    if (!lines.containsKey(source) && proposer.propose(command, completion)) return true;
    if (waiting.get() >= commandsMax) return false;
    long size = bytes.of().applyAsLong(command);
    if (size > 0 && size > bytes.max() - waitingBytes.get()) return false;
    waiting.getAndIncrement();
    waitingBytes.addAndGet(size);
    var added = new Waiting<>(command, completion, size, System.nanoTime());
    lines.compute(source, (_, present) -> (present == null ? new Line(source) : present).with(added)).begin();
    return true;
  }

  /** The commands of one source that wait. */
  private final class Line {
    private final String source;
    private final ConcurrentLinkedQueue<Waiting<C, R>> queue = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final Runnable turn = this::turn;

    Line(String source) {
      this.source = source;
    }

    /** Only within a change of the map, so that a line which is taken out of it is empty. */
    Line with(Waiting<C, R> last) {
      queue.add(last);
      return this;
    }

    void begin() {
      if (begun.compareAndSet(false, true)) ask();
    }

    private void ask() {
      if (room.test(turn)) return;
      CompletableFuture.delayedExecutor(AGAIN_MILLIS, TimeUnit.MILLISECONDS).execute(turn);
    }

    private void turn() {
      do {
        for (Waiting<C, R> head; (head = queue.peek()) != null; ) {
          if (!proposed(head)) {
            ask();
            return;
          }
          queue.remove();
          waiting.decrementAndGet();
          waitingBytes.addAndGet(-head.bytes());
        }
      } while (lines.computeIfPresent(source, (_, line) -> line.queue.isEmpty() ? null : line) != null);
    }
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

  /** Their bytes, if these are bounded; any thread. */
  public long waitingBytes() {
    return waitingBytes.get();
  }

  /** How long the first in a line has waited, the longest of all lines; 0 without any. Any thread. */
  public double oldestSeconds() {
    long now = System.nanoTime();
    long oldest = 0;
    for (var line : lines.values()) {
      var head = line.queue.peek();
      if (head != null) oldest = Math.max(oldest, now - head.sinceNanos());
    }
    return oldest / 1e9;
  }
}
