package dunlin.cluster;

import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.Replica;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/**
 * What this node needs to know of a kind of ranges to host replicas of them, which are added and removed while it runs.
 *
 * @param name a short lower-case word; a node that knows the kind has it among its roles
 * @param logic makes the logic of a replica that is about to be opened
 * @param opened gets each replica with its logic, before it has started; must be quick
 * @param together how many of a key's first bytes must be kept together: a split never separates rows that share them.
 *     0 where ranges of this kind cannot be split. Called with any bytes, not only with keys of rows
 * @param cuts where the ranges that a cluster begins with are cut, in order; none for one range. The same on all nodes, and for ever: the number in the identifier
 *     of such a range ({@link RangeId#numbered}) says which of them it is
 */
public record RangeKind<C, R, L extends RangeLogic<C, R>>(
    String name,
    CommandCodec<C> codec,
    Function<RangeId, L> logic,
    BiConsumer<Replica<C, R>, L> opened,
    ToIntFunction<byte[]> together,
    List<byte[]> cuts) {
  public RangeKind {
    cuts = List.copyOf(cuts);
  }

  /** A kind of which a cluster begins with one range. */
  public RangeKind(
      String name, CommandCodec<C> codec, Function<RangeId, L> logic, BiConsumer<Replica<C, R>, L> opened, ToIntFunction<byte[]> together) {
    this(name, codec, logic, opened, together, List.of());
  }

  /** A kind of which a cluster begins with one range, and whose ranges may be split at every key. */
  public RangeKind(
      String name, CommandCodec<C> codec, Function<RangeId, L> logic, BiConsumer<Replica<C, R>, L> opened) {
    this(name, codec, logic, opened, key -> key.length);
  }

  /** Whether a range of this kind may be split at this key. */
  boolean splitsAt(byte[] cut) {
    int length = together.applyAsInt(cut);
    return length > 0 && length >= cut.length;
  }
}
