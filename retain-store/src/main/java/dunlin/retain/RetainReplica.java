package dunlin.retain;

import dunlin.cluster.RangeKind;
import dunlin.store.Range;
import dunlin.store.Replica;
import java.util.function.BiConsumer;

/** A replica of a range of retained messages on this node. A {@link RetainServer} serves it while the node leads it. */
public final class RetainReplica {
  /** The kind of these ranges. */
  public static final String KIND = RetainRepair.RANGE;

  private final Range<RetainCommand, RetainResult> range;
  private final RetainRange messages;

  RetainReplica(Range<RetainCommand, RetainResult> range, RetainRange messages) {
    this.range = range;
    this.messages = messages;
  }

  /**
   * The kind of ranges of retained messages, for the nodes of a cluster. Such a range may be split between any two
   * topics.
   *
   * @param opened receives each replica before it has started; must be quick
   */
  public static RangeKind<?, ?, ?> kind(BiConsumer<Replica<?, ?>, RetainReplica> opened) {
    return new RangeKind<RetainCommand, RetainResult, RetainRange>(
        KIND,
        new RetainCodec(),
        _ -> new RetainRange(),
        (replica, messages) -> opened.accept(replica, new RetainReplica(replica, messages)));
  }

  Range<RetainCommand, RetainResult> range() {
    return range;
  }

  RetainRange messages() {
    return messages;
  }
}
