package dunlin.retain;

import dunlin.cluster.RangeKind;
import dunlin.store.Range;
import dunlin.store.Replica;
import dunlin.store.serve.EpochRange;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A replica of a range of retained messages on this node, which serves it while it leads it: {@link RetainServer} alone, {@link RetainTier} in a cluster. */
public final class RetainReplica {
  /** The kind of these ranges. */
  public static final String KIND = RetainRepair.RANGE;

  private final EpochRange<RetainCommand, RetainResult> served;
  private final RetainRange messages;

  private RetainReplica(EpochRange<RetainCommand, RetainResult> served, RetainRange messages) {
    this.served = served;
    this.messages = messages;
  }

  /**
   * A range of a node that runs alone.
   *
   * @param end the first key of the next range; null when there is none
   */
  static RetainReplica alone(Range<RetainCommand, RetainResult> range, RetainRange messages, byte @Nullable [] end) {
    return new RetainReplica(EpochRange.alone(range, end), messages);
  }

  /** A range of a cluster. */
  static RetainReplica placed(Replica<RetainCommand, RetainResult> range, RetainRange messages) {
    return new RetainReplica(EpochRange.placed(range, "topic"), messages);
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

  /** The range, with its epochs in a cluster. */
  EpochRange<RetainCommand, RetainResult> served() {
    return served;
  }

  RetainRange messages() {
    return messages;
  }
}
