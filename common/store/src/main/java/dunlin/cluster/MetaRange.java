package dunlin.cluster;

import dunlin.placement.OperationRules;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCodec;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementResult;
import dunlin.store.Completion;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** This node's replica of the meta group's range, while it has one. It is placed, moved and replaced like any other range. */
final class MetaRange {
  /*
   * Owner: any thread. LocalReplicas adds and removes the replica.
   */
  static final String KIND = "meta";
  static final RangeId ID = RangeId.firstOf(KIND);

  private final UUID self;
  private final Consumer<Placement> watcher;
  private final Consumer<Boolean> leadership;
  private volatile @Nullable Placement placement;
  private volatile @Nullable Replica<PlacementCommand, PlacementResult> replica;

  /**
   * @param watcher is called with each new map, on the applying thread
   * @param leadership is called with whether this replica leads, on a thread of the store
   */
  MetaRange(UUID self, Consumer<Placement> watcher, Consumer<Boolean> leadership) {
    this.self = self;
    this.watcher = watcher;
    this.leadership = leadership;
  }

  RangeKind<PlacementCommand, PlacementResult, Placement> kind() {
    return new RangeKind<>(KIND, new PlacementCodec(), _ -> new Placement(watcher), this::opened, _ -> 0);
  }

  private void opened(Replica<PlacementCommand, PlacementResult> made, Placement of) {
    placement = of;
    replica = made;
    made.onLeadership(leadership);
  }

  boolean leads() {
    return leader().filter(self::equals).isPresent();
  }

  /** The group's leader, as far as the local replica knows. */
  Optional<UUID> leader() {
    var here = replica;
    return here == null ? Optional.empty() : here.leader();
  }

  long term() {
    var here = replica;
    return here == null ? 0 : here.status().term();
  }

  /** The map as of the last entry applied here; empty on a node without a replica. */
  Optional<Placement> placement() {
    return Optional.ofNullable(placement);
  }

  /**
   * Whether this replica leads in its current term, confirmed by a majority. A replica that learns of a higher term
   * during that time stops being the leader.
   *
   * @return the term, or empty
   */
  Optional<Long> confirmedTerm(Duration deadline) {
    var here = replica;
    if (here == null) return Optional.empty();
    long term = here.status().term();
    try {
      var _ = here.readBarrier().get(deadline.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
    var status = here.status();
    boolean leads = status.leader().filter(self::equals).isPresent();
    return leads && status.term() == term ? Optional.of(term) : Optional.empty();
  }

  /**
   * Puts a command into the log and waits until it is applied.
   *
   * @throws StoreException when this replica does not lead, or the outcome of the command is unknown
   */
  PlacementResult propose(PlacementCommand command, Duration deadline) {
    var here = replica;
    if (here == null) throw new StoreException("this node has no replica of the meta range");
    var answer = new CompletableFuture<PlacementResult>();
    if (!here.propose(command, Completion.of(answer))) throw new StoreException("the meta range's queue is full");
    try {
      return answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StoreException failure) throw failure;
      throw new StoreException("the meta range has failed: " + e.getCause(), e);
    } catch (TimeoutException e) {
      throw new OutcomeUnknownException("no answer of the meta range within " + deadline, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new OutcomeUnknownException("interrupted while waiting for the meta range", e);
    }
  }

  /** The same for a command that this leader has been asked for: an operation that a disk has no room for is refused before the log. */
  PlacementResult proposeAsked(PlacementCommand command, Duration deadline) {
    var known = placement;
    var refused = command instanceof Begin(_, var operation) && known != null ? OperationRules.withoutRoom(operation, known.map()) : null;
    return refused != null ? refused : propose(command, deadline);
  }
}
