package dunlin.store.serve;

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
import org.jspecify.annotations.Nullable;

/**
 * A range as the server of its tier sees it: in a cluster with epochs and keys, which a split changes. A range of a node that runs alone has no epoch, and never changes.
 * Any thread; nothing blocks.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public final class EpochRange<C, R> {
  /** The epoch of a range that has none. */
  public static final long ALONE = 0;

  private final Range<C, R> range;

  /** The range with its epochs and keys; null for a node that runs alone. */
  private final @Nullable Replica<C, R> placed;

  private final byte @Nullable [] fixedEnd;
  private final String keyName;

  private EpochRange(Range<C, R> range, @Nullable Replica<C, R> placed, byte @Nullable [] fixedEnd, String keyName) {
    this.range = range;
    this.placed = placed;
    this.fixedEnd = fixedEnd;
    this.keyName = keyName;
  }

  /**
   * A range of a node that runs alone.
   *
   * @param end the first key of the next range; null when there is none
   */
  public static <C, R> EpochRange<C, R> alone(Range<C, R> range, byte @Nullable [] end) {
    return new EpochRange<>(range, null, end, "key");
  }

  /**
   * A range of a cluster.
   *
   * @param keyName what has a key, as sentences name it, as in "topic"
   */
  public static <C, R> EpochRange<C, R> placed(Replica<C, R> replica, String keyName) {
    return new EpochRange<>(replica, replica, null, keyName);
  }

  public Range<C, R> range() {
    return range;
  }

  /** Whether other nodes may lead the range, so that reads need a barrier. */
  public boolean isPlaced() {
    return placed != null;
  }

  /** {@link Range#propose} at an epoch. A range of a node that runs alone has none. */
  public boolean propose(long epoch, C command, Completion<R> completion) {
    return placed == null ? range.propose(command, completion) : placed.propose(epoch, command, completion);
  }

  /** {@link Replica#readBarrier}. A node that runs alone needs none. */
  public CompletableFuture<@Nullable Void> readBarrier() {
    return placed == null ? CompletableFuture.completedFuture(null) : placed.readBarrier();
  }

  /** The present epoch. */
  public long epoch() {
    return descriptor().map(RangeDescriptor::epoch).orElse(ALONE);
  }

  /**
   * The first key of the next range; null when there is none.
   *
   * @throws WrongEpochException when the range has another epoch
   * @throws NotLeaderException when this replica does not know of the epoch yet
   */
  public byte @Nullable [] end(long epoch) {
    var now = descriptor().orElse(null);
    if (now == null) return fixedEnd;
    if (now.epoch() != epoch) throw another(now, epoch);
    return now.keys().end();
  }

  /** A caller may know a later epoch than a replica that led the range before, and stood still when it was split. */
  private static StoreException another(RangeDescriptor now, long epoch) {
    return now.epoch() > epoch ? new WrongEpochException(now, epoch) : new NotLeaderException(new RangeId(now.kind(), now.id()).toString(), Optional.empty());
  }

  /** Why this range cannot be asked about a key at an epoch; empty when it can. */
  public Optional<StoreException> refusal(long epoch, byte[] key, int length) {
    var now = descriptor().orElse(null);
    if (now == null) return Optional.empty();
    if (now.epoch() != epoch) return Optional.of(another(now, epoch));
    if (now.keys().contains(Arrays.copyOf(key, length))) return Optional.empty();
    return Optional.of(new StoreException("a " + keyName + " of another range than " + now.keys()));
  }

  /** The range by the rows of this replica; empty for one of a node that runs alone. While nothing changes, the same object. */
  public Optional<RangeDescriptor> descriptor() {
    return placed == null ? Optional.empty() : placed.descriptor();
  }
}
