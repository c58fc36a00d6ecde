package dunlin.broker.users;

import dunlin.cluster.RangeKind;
import dunlin.store.Range;
import dunlin.store.Replica;
import java.util.function.BiConsumer;

/** A replica of the range of users, roles and bans on this node. An {@link AccessServer} serves it while the node leads it. */
public final class AccessReplica {
  /** The kind of this range. */
  public static final String KIND = "access";

  private final Range<AccessCommand, AccessResult> range;
  private final AccessRange rows;

  AccessReplica(Range<AccessCommand, AccessResult> range, AccessRange rows) {
    this.range = range;
    this.rows = rows;
  }

  /**
   * The kind of this range, for the nodes of a cluster. It cannot be split.
   *
   * @param opened receives each replica before it has started; must be quick
   */
  public static RangeKind<?, ?, ?> kind(BiConsumer<Replica<?, ?>, AccessReplica> opened) {
    return new RangeKind<AccessCommand, AccessResult, AccessRange>(
        KIND, new AccessCodec(), _ -> new AccessRange(), (replica, rows) -> opened.accept(replica, new AccessReplica(replica, rows)), _ -> 0);
  }

  Range<AccessCommand, AccessResult> range() {
    return range;
  }

  AccessRange rows() {
    return rows;
  }
}
