package dunlin.inbox.server;

import dunlin.cluster.RangeKind;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.inbox.rows.ShardInterval;
import dunlin.store.Range;
import dunlin.store.Replica;
import java.util.function.BiConsumer;

/** A replica of a range of sessions on this node. An {@link InboxServer} serves it while the node leads it. */
public final class SessionReplica {
  /** The kind of these ranges. */
  public static final String KIND = "sessions";

  private final Range<SessionCommand, SessionResult> range;
  private final SessionRange sessions;

  SessionReplica(Range<SessionCommand, SessionResult> range, SessionRange sessions) {
    this.range = range;
    this.sessions = sessions;
  }

  /**
   * What a node of a cluster needs to know to have replicas of the range of all sessions, which cannot be split.
   *
   * @param shards of the cluster
   * @param opened gets each of them, before it has started; must be quick
   */
  public static RangeKind<?, ?, ?> kind(int shards, BiConsumer<Replica<?, ?>, SessionReplica> opened) {
    return new RangeKind<SessionCommand, SessionResult, SessionRange>(
        KIND,
        new SessionCommandCodec(),
        _ -> new SessionRange(ShardInterval.whole(shards)),
        (replica, sessions) -> opened.accept(replica, new SessionReplica(replica, sessions)),
        _ -> 0);
  }

  Range<SessionCommand, SessionResult> range() {
    return range;
  }

  SessionRange sessions() {
    return sessions;
  }
}
