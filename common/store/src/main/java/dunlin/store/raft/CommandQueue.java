package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.CommandKind;
import dunlin.store.RangeId;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.atomic.MpscAtomicArrayQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The commands of one range that wait for the log, and the callers that wait for room among them. */
final class CommandQueue<P extends CommandQueue.Waiting> {
  /*
   * Owner: any thread offers and waits for room; one thread at a time takes commands and notifies callers.
   * Bounds: commandsMax and bytesMax; FLOW commands may use three quarters of either. At most CALLERS_MAX callers wait
   * for room, each once.
   * Failure: a full queue answers false. A caller that throws when it is notified does not affect the others.
   *
   * Callers are notified when half of the queue is free, not for each free place: they then come back with larger
   * batches and have about the same chance. Those that are refused again come first the next time.
   */
  private static final Logger log = LoggerFactory.getLogger(CommandQueue.class);
  static final int CALLERS_MAX = 4096;

  /** A command that waits. */
  interface Waiting {
    int bytes();
  }

  private final RangeId range;
  private final MpscAtomicArrayQueue<P> queue;
  private final int flowCommandsMax;
  private final long bytesMax;
  private final AtomicLong bytes = new AtomicLong();

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
    if (!reserve(command.bytes(), flow ? bytesMax - bytesMax / 4 : bytesMax)) return false;
    if (flow ? queue.offerIfBelowThreshold(command, flowCommandsMax) : queue.offer(command)) return true;
    bytes.addAndGet(-command.bytes());
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

  @Nullable P peek() {
    return queue.peek();
  }

  @Nullable P poll() {
    P command = queue.poll();
    if (command != null) bytes.addAndGet(-command.bytes());
    return command;
  }

  boolean isEmpty() {
    return queue.isEmpty();
  }

  int commands() {
    return queue.size();
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
    if (callersWaiting == 0 || queue.size() > queue.capacity() / 2 || bytes.get() > bytesMax / 2) return;
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
