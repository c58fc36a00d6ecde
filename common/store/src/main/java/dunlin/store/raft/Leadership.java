package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.NotLeaderException;
import dunlin.store.RangeId;
import dunlin.store.disk.RatisPeers;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether this replica leads its range and has applied all that was committed before its term, as reported by Ratis;
 * otherwise, which leader it follows.
 */
final class Leadership {
  /*
   * Owner: Ratis' threads and the maintenance thread write, under the lock; any thread reads.
   * A leader that transfers its leadership accepts no command any more, and may lead again when the transfer fails. It
   * counts as lost from the beginning: the range's server is closed then, since its commands are refused.
   *
   * Failure: Ratis reports "lost" and "ready" on different threads. A late "ready" is checked against Ratis' own state,
   * and the maintenance compares once a second.
   */
  private static final Logger log = LoggerFactory.getLogger(Leadership.class);

  private final RangeId range;
  private final RaftGroupId group;
  private final List<Consumer<Boolean>> listeners = new CopyOnWriteArrayList<>();
  private final CompletableFuture<@Nullable Void> first = new CompletableFuture<>();

  private volatile @Nullable RaftServer server; // set by the state machine as it is initialized
  private volatile boolean leading; // written under the lock

  /** Whether it is transferring the leadership. */
  @GuardedBy("this")
  private boolean leaving;

  Leadership(RangeId range, RaftGroupId group) {
    this.range = range;
    this.group = group;
  }

  void attach(RaftServer serving) {
    server = serving;
  }

  boolean leading() {
    return leading;
  }

  /** Completed when this replica has led for the first time. */
  CompletableFuture<@Nullable Void> first() {
    return first;
  }

  /** Calls the listener with the current state and with each change, in order, on Ratis' threads, so it must be quick. */
  synchronized void listen(Consumer<Boolean> listener) {
    listeners.add(listener);
    tell(listener, leading);
  }

  synchronized void gained() {
    if (leading || leaving || !saysRatis()) return;
    leading = true;
    listeners.forEach(listener -> tell(listener, true));
    first.complete(null);
  }

  synchronized void lost() {
    if (!leading) return;
    leading = false;
    listeners.forEach(listener -> tell(listener, false));
  }

  /** Begins to transfer the leadership: it counts as lost. */
  synchronized void leave() {
    leaving = true;
    lost();
  }

  /** The transfer has ended. If it has failed, this replica leads again. */
  synchronized void left() {
    leaving = false;
    compare();
  }

  /** Corrects the state after notifications in the wrong order. */
  void compare() {
    if (saysRatis()) gained();
    else lost();
  }

  /** The leader that this replica follows; empty while there is none or it is this one. */
  Optional<UUID> leader() {
    try {
      var serving = server;
      if (serving == null) return Optional.empty();
      RaftPeerId leader = serving.getDivision(group).getInfo().getLeaderId();
      return leader == null || leader.equals(serving.getId()) ? Optional.empty() : Optional.of(RatisPeers.node(leader));
    } catch (IOException | RuntimeException e) {
      return Optional.empty(); // Ratis does not serve the range any more, or is being closed, and may throw any exception then
    }
  }

  /** The leader, which may be this replica; empty while there is none. */
  Optional<UUID> known() {
    var serving = server;
    return leading && serving != null ? Optional.of(RatisPeers.node(serving.getId())) : leader();
  }

  NotLeaderException notLeader() {
    return new NotLeaderException(range.toString(), leader());
  }

  private boolean saysRatis() {
    try {
      var serving = server;
      return serving != null && serving.getDivision(group).getInfo().isLeaderReady();
    } catch (IOException e) {
      return false;
    }
  }

  private void tell(Consumer<Boolean> listener, boolean leads) {
    try {
      listener.accept(leads);
    } catch (RuntimeException e) {
      log.error("Range {}: a leadership listener has thrown an exception", range, e);
    }
  }
}
