package dunlin.cluster.call;

import dunlin.cluster.call.ClusterCall.Hello;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows which nodes of the cluster this node does not reach: it calls each of them at intervals. A node may reach the leader of the meta
 * group while it does not reach a third one.
 */
public final class NodeReach {
  /*
   * A node is reached as soon as it answers, whatever it answers. It is not reached when all calls since a time have failed, and that time is longer ago
   * than the patience. A node that was never called counts as reached.
   *
   * Owner: its thread begins the calls, each on a virtual thread; any thread asks.
   * Bounds: one call to each node, and CALLS_MAX in progress; the others are made at the next interval, first.
   * Failure: the deadline ends a call that is not answered.
   */
  private static final Logger LOG = LoggerFactory.getLogger(NodeReach.class);
  private static final int CALLS_MAX = 64;

  private final UUID cluster;
  private final NodeCalls calls;
  private final Supplier<Map<UUID, NodeAddress>> others;
  private final long intervalNanos;
  private final Duration deadline;
  private final long patienceNanos;
  private final Thread thread;
  private final ExecutorService callers;
  private final Set<UUID> calling = ConcurrentHashMap.newKeySet();

  /** The nodes whose last call has failed. */
  private final Map<UUID, Failing> failing = new ConcurrentHashMap<>();

  /**
   * Calls to a node that have failed in succession.
   *
   * @param since when the first of them began
   * @param logged whether the log says that the node is not reached
   */
  private record Failing(long since, boolean logged) {}

  private int turn; // used by the thread only: which node is called first
  private volatile boolean closed;

  /**
   * @param others the other nodes of the cluster, and where they answer
   * @param deadline how long one call may take
   * @param patience how long calls to a node must fail before it counts as not reached
   */
  public NodeReach(
      String threadName, UUID cluster, NodeCalls calls, Supplier<Map<UUID, NodeAddress>> others, Duration interval, Duration deadline, Duration patience) {
    this.cluster = cluster;
    this.calls = calls;
    this.others = others;
    this.deadline = deadline;
    intervalNanos = interval.toNanos();
    patienceNanos = patience.toNanos();
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
    callers = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name(threadName + "-call").factory());
  }

  public void start() {
    thread.start();
  }

  /** The nodes that are not reached. */
  public List<UUID> unreached() {
    long now = System.nanoTime();
    return failing.entrySet().stream().filter(each -> isOver(each.getValue(), now)).map(Map.Entry::getKey).sorted().toList();
  }

  private boolean isOver(Failing calls, long now) {
    return now - calls.since >= patienceNanos;
  }

  private void run() {
    while (!closed) {
      try {
        round();
      } catch (RuntimeException e) { // an exception would end the calls for good
        if (!closed) LOG.error("The nodes of the cluster could not be called", e);
      }
      LockSupport.parkNanos(this, intervalNanos);
    }
  }

  private void round() {
    var nodes = others.get();
    failing.keySet().retainAll(nodes.keySet());
    var ids = nodes.keySet().stream().sorted().toList();
    for (int i = 0; i < ids.size(); i++) {
      if (calling.size() == CALLS_MAX) {
        turn += i;
        return;
      }
      var node = ids.get(Math.floorMod(turn + i, ids.size()));
      var at = nodes.get(node);
      if (at == null || !calling.add(node)) continue;
      try {
        callers.execute(() -> call(node, at));
      } catch (RejectedExecutionException stopped) {
        calling.remove(node);
      }
    }
  }

  private void call(UUID node, NodeAddress at) {
    long began = System.nanoTime();
    try {
      byte[] _ = calls.call(at, ClusterWire.bytes(new ClusterWire.Sent(cluster, new Hello())), deadline);
      var before = failing.remove(node);
      if (before != null && before.logged) LOG.info("Node {} is reached again, after {} s", node, TimeUnit.NANOSECONDS.toSeconds(began - before.since));
    } catch (IOException e) {
      if (!closed) failed(node, began, e);
    } finally {
      calling.remove(node);
    }
  }

  private void failed(UUID node, long began, IOException failure) {
    var before = failing.getOrDefault(node, new Failing(began, false));
    boolean logs = !before.logged && isOver(before, System.nanoTime());
    if (logs) LOG.info("Node {} is not reached: {}", node, failure.getMessage());
    failing.put(node, new Failing(before.since, before.logged || logs));
  }

  /** Begins no further call. */
  public void stop() {
    closed = true;
    LockSupport.unpark(thread);
    callers.shutdown();
  }

  /** Whether its thread and its calls have ended by then. */
  public boolean ended(long untilNanos) throws InterruptedException {
    boolean ended = ThreadEnd.by(untilNanos, thread);
    return callers.awaitTermination(Math.max(0, untilNanos - System.nanoTime()), TimeUnit.NANOSECONDS) && ended;
  }
}
