package dunlin.retain;

import dunlin.cluster.RangeKind;
import dunlin.store.Completion;
import dunlin.store.NotLeaderException;
import dunlin.store.Range;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A replica of a range of retained messages on this node, which serves it while it leads it: {@link RetainServer} alone, {@link RetainTier} in a cluster. */
public final class RetainReplica {
  /** The kind of these ranges. */
  public static final String KIND = RetainRepair.RANGE;

  private final Range<RetainCommand, RetainResult> range;
  private final RetainRange messages;

  /** The range with its epochs and keys; null for a node that runs alone, whose ranges never change. */
  private final @Nullable Replica<RetainCommand, RetainResult> placed;

  private final byte @Nullable [] fixedEnd;

  private RetainReplica(
      Range<RetainCommand, RetainResult> range, RetainRange messages, @Nullable Replica<RetainCommand, RetainResult> placed, byte @Nullable [] fixedEnd) {
    this.range = range;
    this.messages = messages;
    this.placed = placed;
    this.fixedEnd = fixedEnd;
  }

  /**
   * A range of a node that runs alone.
   *
   * @param end the first key of the next range; null when there is none
   */
  static RetainReplica alone(Range<RetainCommand, RetainResult> range, RetainRange messages, byte @Nullable [] end) {
    return new RetainReplica(range, messages, null, end);
  }

  /** A range of a cluster. */
  static RetainReplica placed(Replica<RetainCommand, RetainResult> range, RetainRange messages) {
    return new RetainReplica(range, messages, range, null);
  }

  /**
   * The kind of ranges of retained messages, for the nodes of a cluster. Such a range may be split between any two
   * topics.
   *
   * @param opened receives each replica before it has started; must be quick
   */
  public static RangeKind<?, ?, ?> kind(BiConsumer<Replica<?, ?>, RetainReplica> opened) {
    return new RangeKind<RetainCommand, RetainResult, RetainRange>(
        KIND, new RetainCodec(), _ -> new RetainRange(), (replica, messages) -> opened.accept(replica, placed(replica, messages)));
  }

  Range<RetainCommand, RetainResult> range() {
    return range;
  }

  RetainRange messages() {
    return messages;
  }

  /** {@link Range#propose} at an epoch. A range of a node that runs alone has none. */
  boolean propose(long epoch, RetainCommand command, Completion<RetainResult> completion) {
    return placed == null ? range.propose(command, completion) : placed.propose(epoch, command, completion);
  }

  /** {@link Replica#readBarrier}. A node that runs alone needs none. */
  CompletableFuture<?> readBarrier() {
    return placed == null ? CompletableFuture.completedFuture(null) : placed.readBarrier();
  }

  /** The present epoch. */
  long epoch() {
    return descriptor().map(RangeDescriptor::epoch).orElse(0L);
  }

  /**
   * The first key of the next range; null when there is none.
   *
   * @throws WrongEpochException when the range has another epoch
   * @throws NotLeaderException when this replica does not know of the epoch yet
   */
  byte @Nullable [] end(long epoch) {
    var now = descriptor().orElse(null);
    if (now == null) return fixedEnd;
    if (now.epoch() != epoch) throw another(now, epoch);
    return now.keys().end();
  }

  /** A caller may know a later epoch than a replica that led the range before, and stood still when it was split. */
  private static StoreException another(RangeDescriptor now, long epoch) {
    return now.epoch() > epoch ? new WrongEpochException(now, epoch) : new NotLeaderException(new RangeId(KIND, now.id()).toString(), Optional.empty());
  }

  /** Why this range cannot be asked about a key at an epoch; null when it can. */
  @Nullable StoreException refusal(long epoch, byte[] key, int length) {
    var now = descriptor().orElse(null);
    if (now == null) return null;
    if (now.epoch() != epoch) return another(now, epoch);
    return now.keys().contains(Arrays.copyOf(key, length)) ? null : new StoreException("a topic of another range than " + now.keys());
  }

  private Optional<RangeDescriptor> descriptor() {
    return placed == null ? Optional.empty() : placed.descriptor();
  }
}
