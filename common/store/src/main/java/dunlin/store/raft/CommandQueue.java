package dunlin.store.raft;

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
   * Owner: any thread offers and waits for room; one thread at a time takes and tells.
   * Bounds: commandsMax and bytesMax; a flow has three quarters of either. CALLERS_MAX wait for room, each once.
   * Failure: full is an answer of false. A caller that throws when it is called costs no other.
   *
   * Room is announced when half is free, and not with each place: callers then come back with much at a time, and all that were refused
   * before have about the same chance. Those that are refused again stand in front the next time.
   */
  private static final Logger log = LoggerFactory.getLogger(CommandQueue.class);
  static final int CALLERS_MAX = 4096;

  /** What waits. */
  interface Waiting {
    int bytes();
  }

  private final RangeId range;
  private final MpscAtomicArrayQueue<P> queue;
  private final int flowCommandsMax;
  private final long bytesMax;
  private final AtomicLong bytes = new AtomicLong();
  private final LinkedHashSet<Runnable> callers = new LinkedHashSet<>(); // guarded by itself

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

  /** Not by adding first and looking then: what a flow is refused for must not even for a moment take what is kept from it. */
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

  /** Remembers whom to tell when half of the queue is free; false when too many are waiting. One that waits already waits once. */
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

  /** Tells those that wait, if half of the queue is free. */
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
        log.error("Range {}: a caller that was told of room has thrown", range, e);
      }
    }
  }
}
