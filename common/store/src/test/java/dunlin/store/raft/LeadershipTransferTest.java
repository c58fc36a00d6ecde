package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.StoreException;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A leadership is transferred to a node that has just ended. */
class LeadershipTransferTest {
  @TempDir Path directory;

  /**
   * While it tries, Ratis refuses all commands: the range's server must be closed. And Ratis goes on refusing them when the successor's host refuses the
   * connection.
   */
  @Test
  void aLeaderThatTransfersItsLeadershipInVainLeadsAnew() {
    try (var trio = Trio.start(directory, LeadershipTransferTest::patient, UnaryOperator.identity())) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      var seen = new CopyOnWriteArrayList<Boolean>();
      leader.range().onLeadership(seen::add);
      var gone =
          await("a node on a busy machine may count as silent before it has ended")
              .atMost(Trio.DEADLINE)
              .until(() -> transferredInVain(leader, trio.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow(), seen), Objects::nonNull);

      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(seen).startsWith(true, false, true));
      trio.apply(new Put("a", "2"));
      await()
          .atMost(Trio.DEADLINE)
          .untilAsserted(
              () -> assertThatThrownBy(() -> leader.range().transferLeadership(gone, Duration.ofSeconds(2))).hasMessageContaining("does not answer"));
      trio.apply(new Put("a", "3"));
    }
  }

  /**
   * Closes a follower and tries to transfer the leadership to it. Answers its id, or null with the follower started again if the transfer was not begun, since
   * the follower counted as silent already.
   *
   * @param seen whether the leader leads, each time
   */
  private static @Nullable UUID transferredInVain(Trio.Node leader, Trio.Node follower, List<Boolean> seen) {
    var gone = follower.id();
    follower.close();
    try {
      leader.range().transferLeadership(gone, Duration.ofSeconds(2));
    } catch (StoreException e) {
      if (seen.contains(false)) return gone;
      follower.restart();
      return null;
    }
    throw new AssertionError("transferred to a node that has ended");
  }

  /** To transfer a leadership raises the priority of the successor; an election, which begins only after a timeout, does not. */
  @Test
  void aLeaderThatStopsHandsItsLeadershipOver() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      assertThat(trio.leader().range().status().peers()).hasSize(3).allMatch(peer -> peer.priority() == 0);

      await("a stop on a busy machine does not wait for long")
          .atMost(Trio.DEADLINE)
          .until(
              () -> {
                var stopping = trio.leader();
                stopping.close();
                var next = trio.leader();
                boolean transferred = next.range().status().peer(next.id()).filter(peer -> peer.priority() > 0).isPresent();
                stopping.restart();
                return transferred;
              });
      trio.apply(new Put("a", "2"));
    }
  }

  @Test
  void aStoreHandsItsLeadershipsOverAndGoesOn() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var before = trio.leader();

      await("a transfer on a busy machine may take too long")
          .atMost(Trio.DEADLINE)
          .until(
              () -> {
                before.store().handOver();
                return !trio.leader().id().equals(before.id());
              });

      var next = trio.leader();
      trio.apply(new Put("a", "2"));
      long applied = next.range().status().applied();
      await("it still follows").atMost(Trio.DEADLINE).until(() -> before.range().status().applied() >= applied);
    }
  }

  /** A follower that has ended counts as silent only later. */
  private static ClusterSettings patient(ClusterSettings usual) {
    return new ClusterSettings(
        usual.port(), usual.host(), usual.bindAddress(), usual.security(), Duration.ofSeconds(4), usual.entriesKept(), usual.installBytesPerSecond(),
        usual.installDeadline());
  }
}
