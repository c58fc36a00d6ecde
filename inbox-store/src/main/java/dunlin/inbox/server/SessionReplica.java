package dunlin.inbox.server;

import dunlin.cluster.RangeKind;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardInterval;
import dunlin.store.Range;
import dunlin.store.Replica;
import java.util.function.BiConsumer;

/** A replica of a session range on this node. An {@link InboxServer} serves it while the node leads the range. */
public final class SessionReplica {
  /** The kind of session ranges. */
  public static final String KIND = "sessions";

  private final Range<SessionCommand, SessionResult> range;
  private final SessionRange sessions;

  SessionReplica(Range<SessionCommand, SessionResult> range, SessionRange sessions) {
    this.range = range;
    this.sessions = sessions;
  }

  /**
   * The range kind that a node of a cluster needs for replicas of the ranges of sessions. There are as many as the cluster begins with; they cannot be split.
   *
   * @param layout of the cluster
   * @param opened receives each replica before it starts; must not block
   */
  public static RangeKind<?, ?, ?> kind(Layout layout, BiConsumer<Replica<?, ?>, SessionReplica> opened) {
    var intervals = ShardInterval.divide(layout.shards(), layout.ranges());
    var ids = layout.rangeIds();
    return new RangeKind<SessionCommand, SessionResult, SessionRange>(
        KIND,
        new SessionCommandCodec(),
        id -> new SessionRange(intervals.get(ids.indexOf(id))),
        (replica, sessions) -> opened.accept(replica, new SessionReplica(replica, sessions)),
        _ -> 0,
        intervals.stream().skip(1).map(interval -> SessionKeys.firstOf(interval.from())).toList());
  }

  Range<SessionCommand, SessionResult> range() {
    return range;
  }

  SessionRange sessions() {
    return sessions;
  }
}
