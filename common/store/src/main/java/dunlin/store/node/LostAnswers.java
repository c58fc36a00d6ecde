package dunlin.store.node;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.leader.FollowerInfo;
import org.apache.ratis.server.leader.LogAppender;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has leaders send an entry again when the follower has it and its answer was lost; called once a second.
 *
 * <p>When a connection breaks, Ratis 3.3.0 goes on behind the entries that it had sent. A follower that has not received them says so, and gets them again. One that has
 * received them answers the following heartbeats, but these answers do not tell which entries it has. The leader learns it with the answer to the next entry. A new leader sends no other entry
 * before the first one of its term is committed, so a range that needs this follower for its majority would have no leader until a restart. In the same way a write waits for the next one.
 */
final class LostAnswers {
  /*
   * A follower that answers while its last known entry and the next one to send have been the same for WAIT_NANOS, with some in between, gets the last one of
   * these again. It has all of them if it accepts the heartbeats, which name the last one. When it is only slow, the entry comes twice, which Raft allows.
   *
   * Owner: the maintenance thread.
   * Bounds: one entry for each follower in WAIT_NANOS; what is remembered is bounded by the followers of this node's groups.
   * Failure: with a Ratis that lacks what is used here, the store does not start. A group that is closed in between ends one round.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LostAnswers.class);
  private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(3);

  private record Way(RaftGroupId group, RaftPeerId follower) {}

  /**
   * How far a follower is.
   *
   * @param matched the last entry that it is known to have
   * @param next the entry that is sent to it next
   * @param sinceNanos since when both have been so
   */
  private record Standing(long matched, long next, long sinceNanos) {}

  private final RaftServer server;
  private final Field role;
  private final Method leaderState;
  private final Field senders;
  private final Map<Way, Standing> standing = new HashMap<>();

  LostAnswers(RaftServer server) {
    this.server = server;
    try {
      role = Class.forName("org.apache.ratis.server.impl.RaftServerImpl").getDeclaredField("role");
      role.setAccessible(true);
      leaderState = Class.forName("org.apache.ratis.server.impl.RoleInfo").getDeclaredMethod("getLeaderState");
      leaderState.setAccessible(true);
      senders = Class.forName("org.apache.ratis.server.impl.LeaderStateImpl").getDeclaredField("senders");
      senders.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Ratis is not supported", e);
    }
  }

  void look(long nowNanos) throws IOException {
    var seen = new HashSet<Way>();
    for (var group : server.getGroupIds()) {
      for (LogAppender appender : appenders(server.getDivision(group))) {
        var way = new Way(group, appender.getFollowerId());
        seen.add(way);
        look(way, appender, nowNanos);
      }
    }
    standing.keySet().retainAll(seen);
  }

  private void look(Way way, LogAppender appender, long nowNanos) {
    FollowerInfo follower = appender.getFollower();
    long matched = follower.getMatchIndex();
    long next = follower.getNextIndex();
    boolean answers = follower.getLastRpcResponseTime().elapsedTimeMs() < TimeUnit.NANOSECONDS.toMillis(WAIT_NANOS);
    var before = standing.get(way);
    if (matched + 1 >= next || !answers || before == null || before.matched != matched || before.next != next) {
      standing.put(way, new Standing(matched, next, nowNanos));
      return;
    }
    if (nowNanos - before.sinceNanos < WAIT_NANOS) return;
    LOG.info("Node {} answers, but not whether it has entry {} of {}, which is sent again", way.follower, next - 1, way.group);
    standing.put(way, new Standing(matched, next - 1, nowNanos));
    follower.decreaseNextIndex(next - 1);
    appender.notifyLogAppender();
  }

  /** The ways to all followers; none when this node does not lead the group. */
  @SuppressWarnings("unchecked") // types of Ratis that are not public
  private Iterable<LogAppender> appenders(RaftServer.Division division) throws IOException {
    try {
      var leading = (Optional<Object>) leaderState.invoke(role.get(division));
      return leading.isEmpty() ? Set.of() : (Iterable<LogAppender>) senders.get(leading.get());
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IOException(e);
    }
  }
}
