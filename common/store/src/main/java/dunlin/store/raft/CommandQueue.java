package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.CommandKind;
import dunlin.store.RangeId;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.atomic.MpscAtomicArrayQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The commands of one range that wait for the log, and the callers that wait for room among them. */
final class CommandQueue<P extends CommandQueue.Waiting> {
  /*
   * Owner: any thread offers and waits for room; one thread at a time takes commands and notifies callers.
   * Bounds: commandsMax and bytesMax; FLOW commands may use three quarters of either, and those of one source five eighths, as soon as the taker has seen that.
   * At most CALLERS_MAX callers wait for room, each once.
   * Failure: a full queue answers false. A caller that throws when it is notified does not affect the others.
   *
   * Callers are notified when half of the queue is free, not for each free place: they then come back with larger
   * batches and have about the same chance. Those that are refused again come first the next time.
   *
   * Sources take turns: the taker puts what has come in a line for each source, and takes some KiB of a line before it is the next one's turn. So a command waits
   * for as many others as there are sources, and not for all that one source has sent. Within a source, the order stays. A command without a source keeps its
   * place: what came before it is taken first, and what came behind it stays in the queue until then.
   */
  private static final Logger log = LoggerFactory.getLogger(CommandQueue.class);
  static final int CALLERS_MAX = 4096;

  /** What a source may have taken in one turn, and what a command counts beside its bytes. */
  private static final int TURN_BYTES = 4 << 10;

  private static final int COMMAND_BYTES = 64;

  /** A command that waits. */
  interface Waiting {
    int bytes();

    /** See {@link dunlin.store.CommandCodec#source}. */
    @Nullable String source();
  }

  /** The commands of one source, in their order. */
  private static final class Line<P> {
    final String source;
    final ArrayDeque<P> commands = new ArrayDeque<>();
    long bytes;

    /** What may still be taken in this turn; a large command leaves less than nothing for the next turns. */
    long left = TURN_BYTES;

    Line(String source) {
      this.source = source;
    }
  }

  private final RangeId range;
  private final MpscAtomicArrayQueue<P> queue;
  private final int flowCommandsMax;
  private final long bytesMax;
  private final AtomicInteger commands = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();

  /** The taker's: lines with commands. The first has the turn. */
  private final ArrayDeque<Line<P>> turns = new ArrayDeque<>();

  /** These, and at most one that is empty: a single source would come and go with each command. */
  private final Map<String, Line<P>> lines = new HashMap<>();

  /** The source that has so much waiting that its next FLOW commands are refused; written by the taker. */
  private volatile @Nullable String crowding;

  @GuardedBy("callers")
  private final LinkedHashSet<Runnable> callers = new LinkedHashSet<>();

  private volatile int callersWaiting; // written under callers

  CommandQueue(RangeId range, int commandsMax, long bytesMax) {
    this.range = range;
    this.bytesMax = bytesMax;
    queue = new MpscAtomicArrayQueue<>(commandsMax);
    flowCommandsMax = queue.capacity() - queue.capacity() / 4;
  }

  boolean offer(P command, CommandKind kind) {
    boolean flow = kind == CommandKind.FLOW;
    String crowded = crowding;
    if (flow && crowded != null && crowded.equals(command.source())) return false;
    if (!reserve(command.bytes(), flow ? bytesMax - bytesMax / 4 : bytesMax)) return false;
    if (!reservePlace(flow ? flowCommandsMax : queue.capacity())) {
      bytes.addAndGet(-command.bytes());
      return false;
    }
    boolean offered = queue.offer(command);
    assert offered : "the queue has fewer places than were reserved";
    return true;
  }

  private boolean reservePlace(int most) {
    for (int before = commands.get(); before < most; before = commands.get()) if (commands.compareAndSet(before, before + 1)) return true;
    return false;
  }

  /**
   * Reserves room by compare-and-set. Adding first and checking afterwards would let a refused FLOW command use the
   * others' share for a moment.
   */
  private boolean reserve(int more, long most) {
    for (long before = bytes.get(); before + more <= most; before = bytes.get())
      if (bytes.compareAndSet(before, before + more)) return true;
    return false;
  }

  /** The command that {@link #poll} takes next, unless others come before. The taker's, as are the next two. */
  @Nullable P peek() {
    P alone = arrange();
    if (alone != null) return alone;
    var turn = turns.peek();
    return turn == null ? null : turn.commands.peek();
  }

  @Nullable P poll() {
    P command = arrange() == null ? pollTurn() : queue.poll();
    if (command == null) return null;
    commands.decrementAndGet();
    bytes.addAndGet(-command.bytes());
    return command;
  }

  boolean isEmpty() {
    return turns.isEmpty() && queue.isEmpty();
  }

  /** Puts what has come in lines, up to a command without a source; answers that one when it is the next. */
  private @Nullable P arrange() {
    for (P next; (next = queue.peek()) != null; ) {
      String source = next.source();
      if (source == null) return turns.isEmpty() ? next : null;
      queue.poll();
      var line = lines.get(source);
      if (line == null) {
        line = new Line<>(source);
        lines.put(source, line);
      }
      if (line.commands.isEmpty()) turns.add(line);
      line.commands.add(next);
      line.bytes += next.bytes();
      if (line.commands.size() > queue.capacity() / 8 * 5 || line.bytes > bytesMax / 8 * 5) crowding = source;
    }
    return null;
  }

  private @Nullable P pollTurn() {
    var line = turns.peek();
    if (line == null) return null;
    P command = line.commands.remove();
    line.bytes -= command.bytes();
    line.left -= command.bytes() + COMMAND_BYTES;
    // By the time that half of the queue is free, it crowds no longer, so callers that are notified then find room.
    if (line.source.equals(crowding) && line.commands.size() <= queue.capacity() / 2 && line.bytes <= bytesMax / 2) crowding = null;
    if (line.commands.isEmpty()) {
      turns.remove();
      if (lines.size() > 1) lines.remove(line.source);
    }
    for (var next = turns.peek(); next != null && next.left <= 0; next = turns.peek()) {
      turns.remove();
      next.left += TURN_BYTES;
      turns.add(next);
    }
    return command;
  }

  int commands() {
    return commands.get();
  }

  long bytes() {
    return bytes.get();
  }

  /**
   * Registers a caller to be notified when half of the queue is free; false when too many are waiting. A caller is
   * registered only once.
   */
  boolean whenRoom(Runnable caller) {
    synchronized (callers) {
      if (callers.size() >= CALLERS_MAX && !callers.contains(caller)) return false;
      callers.add(caller);
      callersWaiting = callers.size();
      return true;
    }
  }

  int callersWaiting() {
    return callersWaiting;
  }

  /** Notifies the waiting callers if half of the queue is free. */
  void tellRoom() {
    if (callersWaiting == 0 || commands.get() > queue.capacity() / 2 || bytes.get() > bytesMax / 2) return;
    List<Runnable> told;
    synchronized (callers) {
      told = List.copyOf(callers);
      callers.clear();
      callersWaiting = 0;
    }
    for (var caller : told) {
      try {
        caller.run();
      } catch (RuntimeException e) {
        log.error("Range {}: a caller that was notified of room has thrown an exception", range, e);
      }
    }
  }
}
