package dunlin.store.node;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a follower begin an election after an append of its has failed; called once a second.
 *
 * <p>Ratis 3.3.0 counts an append as begun, and as ended only when its future completes. One that throws before it has one, because the log refuses an entry or has no memory for it, is counted
 * as in progress for as long as the node follows without voting. A follower with an append in progress begins no election. If only its log is long enough to be elected, the range has no leader until a restart.
 */
final class FailedAppends {
  /*
   * A follower that has heard of no leader for SILENCES election timeouts, at LOOKS looks in a row, counts as one without appends in progress. Without the wrong count it would have begun an election
   * by then. Looks and not time are counted, since a process that goes on after a pause first reads what its leader has sent. Nothing but the count changes: the
   * follower asks for votes when its own timeout expires. If a slow append was in progress all the same, its end makes the count negative, which prevents elections, too, and is mended alike.
   *
   * Owner: the maintenance thread.
   * Bounds: what is remembered is bounded by this node's groups. A line of the log and one in the counter for each time that a leader falls silent after a failed append.
   * Failure: with a Ratis that lacks what is used here, the store does not start. A group that is closed in between ends one round.
   */
  private static final Logger LOG = LoggerFactory.getLogger(FailedAppends.class);
  private static final int SILENCES = 3;
  private static final int LOOKS = 2;

  private final RaftServer server;
  private final long silentMillis;
  private final Counter ended;
  private final Field role;
  private final Method followerState;
  private final Field appending;

  /** How often in a row a group was found without a leader and with appends in progress. */
  private final Map<RaftGroupId, Integer> found = new HashMap<>();

  FailedAppends(RaftServer server, Duration electionTimeout, MeterRegistry meters) {
    this.server = server;
    silentMillis = SILENCES * electionTimeout.toMillis();
    ended =
        Counter.builder("dunlin.store.appends.failed")
            .description("Times that a follower without a leader could begin no election, because of an append that had failed, until it was counted as ended")
            .register(meters);
    try {
      role = Class.forName("org.apache.ratis.server.impl.RaftServerImpl").getDeclaredField("role");
      role.setAccessible(true);
      followerState = Class.forName("org.apache.ratis.server.impl.RoleInfo").getDeclaredMethod("getFollowerState");
      followerState.setAccessible(true);
      appending = Class.forName("org.apache.ratis.server.impl.FollowerState").getDeclaredField("outstandingOp");
      appending.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Ratis is not supported", e);
    }
  }

  void look() throws IOException {
    var stuck = new HashSet<RaftGroupId>();
    for (var group : server.getGroupIds()) {
      var division = server.getDivision(group);
      AtomicInteger appends = appends(division);
      int count = appends == null ? 0 : appends.get();
      if (appends == null || count == 0) continue;
      long silence = division.getInfo().getRoleInfoProto().getFollowerInfo().getLeaderInfo().getLastRpcElapsedTimeMs();
      if (silence < silentMillis) continue;
      stuck.add(group);
      if (found.merge(group, 1, Integer::sum) < LOOKS || !appends.compareAndSet(count, 0)) continue;
      ended.increment();
      LOG.warn("Group {} has had no leader for {} ms, and an append that had failed or hung kept this node from an election", group.getUuid(), silence);
    }
    found.keySet().retainAll(stuck);
  }

  /** The count of the appends in progress; null when this node does not follow. */
  private @Nullable AtomicInteger appends(RaftServer.Division division) throws IOException {
    try {
      var following = (Optional<?>) followerState.invoke(role.get(division));
      return following.isEmpty() ? null : (AtomicInteger) appending.get(following.get());
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IOException(e);
    }
  }
}
