package dunlin.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.Action;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The actions that the meta group's leader has sent to nodes and that are not answered yet. None is sent twice at a time, and no two nodes are asked to be elected for a
 * range at the same time: each would refuse the other its vote. A start of a replica that fails is asked for again ever less often.
 */
final class PendingActions {
  /*
   * Owner: any thread; guarded by itself.
   * Bounds: MAX actions, NODE_MAX of them at one node. The other half of the calls to it is left for reports, which
   * must get through when it becomes the leader. Full: the action is refused, and decided on again. Failed starts of MAX replicas: of one more,
   * the oldest is forgotten and asked for soon.
   */
  static final int MAX = 64;
  static final int NODE_MAX = NodeCalls.CALLS_MAX / 2;

  /** So many failures in a row are taken for a start that comes too early, for instance before its node knows the addresses of the others. */
  static final int EARLY = 3;

  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final int DOUBLINGS_MAX = 5;
  static final long AGAIN_MAX_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** What happened to an action that was offered. */
  enum Offered {
    TAKEN,
    /** An action on this range is pending at the node, or an election of the range at any node; or a start has failed a moment ago. */
    ASKED_ALREADY,
    FULL
  }

  private record Asked(UUID node, UUID range) {}

  /** Starts of a replica that have failed in a row, and when it is asked for the next one. */
  private record Failed(int times, long againNanos) {}

  private final LongSupplier nanoTime;

  @GuardedBy("this")
  private final Set<Asked> asked = new HashSet<>();

  /** The node that is asked to be elected for a range. */
  @GuardedBy("this")
  private final Map<UUID, UUID> electing = new HashMap<>();

  @GuardedBy("this")
  private final SequencedMap<Asked, Failed> failed = new LinkedHashMap<>();

  PendingActions(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  synchronized Offered offer(Action action) {
    var what = new Asked(action.node(), action.range());
    boolean elects = action instanceof Action.Elect;
    if (asked.contains(what) || (elects && electing.containsKey(action.range()))) return Offered.ASKED_ALREADY;
    if (action instanceof Action.StartReplica && waits(what)) return Offered.ASKED_ALREADY;
    if (asked.size() >= MAX || at(action.node()) >= NODE_MAX) return Offered.FULL;
    asked.add(what);
    if (elects) electing.put(action.range(), action.node());
    return Offered.TAKEN;
  }

  @GuardedBy("this")
  private long at(UUID node) {
    return asked.stream().filter(what -> what.node.equals(node)).count();
  }

  @GuardedBy("this")
  private boolean waits(Asked what) {
    var last = failed.get(what);
    return last != null && last.againNanos - nanoTime.getAsLong() > 0;
  }

  /**
   * An action that was taken has its outcome. The node is asked for nothing else until it has ended, but another one may be elected.
   *
   * @param done whether the node has done it
   */
  synchronized void answered(Action action, boolean done) {
    if (action instanceof Action.Elect) electing.remove(action.range(), action.node());
    if (!(action instanceof Action.StartReplica)) return;
    var what = new Asked(action.node(), action.range());
    var last = failed.remove(what);
    if (done) return;
    int times = last == null ? 1 : last.times + 1;
    if (failed.size() >= MAX) failed.pollFirstEntry();
    failed.put(what, new Failed(times, nanoTime.getAsLong() + pauseNanos(times)));
  }

  private static long pauseNanos(int failures) {
    if (failures <= EARLY) return 0;
    return Math.min(AGAIN_NANOS << Math.min(failures - EARLY - 1, DOUBLINGS_MAX), AGAIN_MAX_NANOS);
  }

  /** An action that was taken has ended. */
  synchronized void ended(Action action) {
    if (action instanceof Action.Elect) electing.remove(action.range(), action.node());
    asked.remove(new Asked(action.node(), action.range()));
  }
}
