package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer.Proposed;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ThreadEnd;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementResult.Refused;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives a cluster the first ranges that it was founded without: of kinds that a later version has, or that a setting has brought since. Each node that would have founded
 * them proposes to have the first replica; the meta group's log decides which one does.
 */
final class LateRanges {
  /*
   * Owner: a thread of its own, which ends when nothing is missing. Without kinds it is not started.
   * Bounds: one command or one creation at a time.
   * Failure: what fails is tried again after a heartbeat. A node that ends between the two steps creates its replica after its next start, and until then no other does.
   *
   * A replica that begins a range must not be made twice: the range may have moved to other nodes in between. So it is made only by a map that a leader of the meta group has
   * confirmed since the start (a heartbeat was answered), as long as that map has no configuration of the range, which it gets from the range's first leader, before
   * anything else is done with it. Where a replica was lost, its note refuses another one (LocalReplicaSet.create).
   */
  private static final Logger log = LoggerFactory.getLogger(LateRanges.class);
  private static final Duration DEADLINE = Duration.ofSeconds(10);

  private final UUID self;
  private final List<RangeDescriptor> ranges;
  private final KnownMap known;
  private final BooleanSupplier confirmed;
  private final MetaClient meta;
  private final NodeActions actions;
  private final long pauseNanos;
  private final Thread thread;
  private volatile boolean closed;

  /**
   * @param ranges that the cluster is to have, with this node as the only peer of each
   * @param confirmed whether a leader of the meta group has confirmed the known map since the start
   */
  LateRanges(
      String threadName, UUID self, List<RangeDescriptor> ranges, KnownMap known, BooleanSupplier confirmed, MetaClient meta, NodeActions actions, Duration pause) {
    this.self = self;
    this.ranges = ranges;
    this.known = known;
    this.confirmed = confirmed;
    this.meta = meta;
    this.actions = actions;
    pauseNanos = pause.toNanos();
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
  }

  /** The first range of a kind, with its first replica on a node. */
  static RangeDescriptor first(String kind, UUID node) {
    return new RangeDescriptor(RangeId.firstOf(kind).uuid(), kind, KeyInterval.all(), 1, List.of(node), null);
  }

  /** The ranges of a kind that a cluster begins with, each with its first replica on a node. */
  static List<RangeDescriptor> first(RangeKind<?, ?, ?> kind, UUID node) {
    var first = new ArrayList<RangeDescriptor>();
    for (int number = 0; number <= kind.cuts().size(); number++) {
      byte[] start = number == 0 ? new byte[0] : kind.cuts().get(number - 1);
      byte[] end = number == kind.cuts().size() ? null : kind.cuts().get(number);
      first.add(
          new RangeDescriptor(RangeId.numbered(kind.name(), number).uuid(), kind.name(), KeyInterval.between(start, end), 1, List.of(node), null));
    }
    return first;
  }

  void start() {
    thread.start();
  }

  private void run() {
    while (!closed && !ranges.stream().allMatch(this::isThere)) LockSupport.parkNanos(this, pauseNanos);
  }

  /** Whether nothing is left to do for a range on this node; does the next step if there is one. */
  private boolean isThere(RangeDescriptor range) {
    if (!confirmed.getAsBoolean()) return false;
    var placed = known.map().ranges().get(range.id());
    try {
      if (placed == null) {
        place(range);
        return false;
      }
      if (placed.configuration() < 0 && placed.range().peers().equals(List.of(self))) actions.begin(placed.range(), DEADLINE);
      return true;
    } catch (StoreException | IOException e) {
      if (!closed) log.info("Node {} cannot create a range of kind '{}' yet, and tries again: {}", self, range.kind(), e.getMessage());
      return false;
    } catch (RuntimeException e) { // an exception would end the attempts for good
      if (!closed) log.error("Node {} has failed to create a range of kind '{}'", self, range.kind(), e);
      return false;
    }
  }

  private void place(RangeDescriptor range) throws IOException {
    if (!known.map().takes(self, range.kind())) return; // not registered yet, or about to be emptied
    if (meta.ask(new Propose(new PlaceRange(range)), DEADLINE) instanceof Proposed(Refused(var reason, var sentence)))
      throw new StoreException(reason + ", " + sentence);
  }

  void stop() {
    closed = true;
    LockSupport.unpark(thread);
  }

  boolean ended(long untilNanos) throws InterruptedException {
    return ThreadEnd.by(untilNanos, thread);
  }
}
