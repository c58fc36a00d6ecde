package dunlin.node;

import dunlin.placement.ClusterMap;
import dunlin.placement.Intent;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeStatus;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says whether the replicas that the cluster has placed on this node have caught up since its start. */
final class CatchUp implements AutoCloseable {
  /*
   * A node of which that is not true yet counts for no majority, so during a rolling restart the next node must not be
   * stopped. A replica has caught up when it is a member of its group, has a leader, and has applied what the leader had
   * committed when the replica first heard of it.
   *
   * That is asked once. A replica that falls behind later, or comes later, is no reason to send clients elsewhere: all
   * nodes of a busy cluster would be left at the same time.
   *
   * Owner: a virtual thread looks, since the store may have to wait for Ratis; any thread reads the outcome.
   * Bounds: the ranges with a replica here.
   * Failure: a replica that never catches up is named for as long as that is so.
   */
  private static final Logger log = LoggerFactory.getLogger(CatchUp.class);
  private static final Duration PAUSE = Duration.ofMillis(250);

  private final Supplier<ClusterMap> map;
  private final Supplier<List<RangeStatus>> replicas;
  private final UUID self;

  /** What each replica must have applied; used by the looking thread only. */
  private final Map<UUID, Long> goals = new HashMap<>();

  private volatile @Nullable String behind = "this node has not heard of its cluster's ranges yet";
  private volatile boolean closed;

  /**
   * @param map of the cluster as a leader of the meta group has last said it; empty before that
   * @param replicas the status of each replica of this node; may wait
   */
  CatchUp(Supplier<ClusterMap> map, Supplier<List<RangeStatus>> replicas, UUID self) {
    this.map = map;
    this.replicas = replicas;
    this.self = self;
  }

  /** Looks from now on, until all have caught up. */
  void follow() {
    Thread.ofVirtual()
        .name("dunlin-catch-up")
        .start(
            () -> {
              while (!closed && behind != null) {
                try {
                  look();
                } catch (RuntimeException e) { // the next look may find it
                  if (!closed) log.warn("Could not find out whether the replicas of this node have caught up, trying again", e);
                }
                LockSupport.parkNanos(PAUSE.toNanos());
              }
            });
  }

  /** Which replica has not caught up, and why; empty once all have. */
  Optional<String> behind() {
    return Optional.ofNullable(behind);
  }

  /** Looks once. */
  void look() {
    var known = map.get();
    if (known.ranges().isEmpty()) return;
    var here = new HashMap<UUID, RangeStatus>();
    for (var status : replicas.get()) here.put(status.range().uuid(), status);
    behind =
        making(known)
            .or(() -> known.rangesOn(self).stream().flatMap(range -> behind(range, here.get(range.id())).stream()).findFirst())
            .orElse(null);
  }

  /** A replica that is being made here. */
  private Optional<String> making(ClusterMap known) {
    return known.intents().values().stream()
        .map(Intent::operation)
        .filter(operation -> operation.filled().filter(self::equals).isPresent())
        .flatMap(operation -> operation.range().stream())
        .flatMap(range -> Optional.ofNullable(known.ranges().get(range)).stream())
        .map(placed -> named(placed.range()) + ": a replica is being created on this node")
        .findFirst();
  }

  private Optional<String> behind(RangeDescriptor range, @Nullable RangeStatus status) {
    if (status == null) return Optional.of(named(range) + ": this node has no replica of it yet");
    String name = "range '" + status.range() + "'";
    switch (status.role()) {
      case QUARANTINED -> {
        return Optional.of(name + ": its replica on this node is lost and has not been recreated yet");
      }
      case STOPPED -> {
        return Optional.of(name + ": its replica on this node is not running");
      }
      case OUTSIDE -> {
        return Optional.of(name + ": its replica on this node is not a member of the group");
      }
      case LEADER, FOLLOWER, CANDIDATE -> {}
    }
    if (status.leader().isEmpty()) return Optional.of(name + " has no leader");
    if (status.behind() < 0) return Optional.of(name + ": its leader has not been heard of yet");
    long goal = goals.computeIfAbsent(status.range().uuid(), _ -> status.applied() + status.behind());
    long left = goal - status.applied();
    return left <= 0 ? Optional.empty() : Optional.of("%s: its replica on this node is catching up, %,d entries are left".formatted(name, left));
  }

  private static String named(RangeDescriptor range) {
    return "the range of kind '" + range.kind() + "'";
  }

  @Override
  public void close() {
    closed = true;
  }
}
