package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.ReplicaRole;
import dunlin.store.raft.Command.Put;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.ratis.util.CodeInjectionForTesting;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An append throws at each follower, and the leader ends before either has voted for another. */
class FailedAppendsTest {
  /** Ratis calls it in an append that it counts as in progress. */
  private static final String IN_APPEND = "RaftServerImpl.appendEntries.logComplete";

  /** Ratis calls it when a leader asks a follower for an election, which a follower begins whatever is in progress. */
  private static final String ASKED_FOR_ELECTION = "RaftServerImpl.startLeaderElection";

  @TempDir Path directory;

  @AfterEach
  void injectsNoMore() {
    CodeInjectionForTesting.remove(IN_APPEND);
    CodeInjectionForTesting.remove(ASKED_FOR_ELECTION);
  }

  @Test
  void aFollowerWhoseAppendHasFailedBeginsAnElection() {
    CodeInjectionForTesting.put(
        ASKED_FOR_ELECTION,
        (_, _, _) -> {
          throw new IllegalStateException("the test has followers elect by themselves");
        });
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("before", "1"));
      long term;
      Trio.Node leader;
      do { // a machine that stands still for a moment may change the leader in between
        leader = trio.leader();
        term = leader.range().status().term();
        failOneAppendOf(trio.followers().stream().map(node -> node.id().toString()).collect(Collectors.toSet()));
      } while (leader.role() != ReplicaRole.LEADER || leader.range().status().term() != term);

      leader.close();

      trio.apply(new Put("after", "2"));
      assertThat(trio.nodes.stream().mapToDouble(FailedAppendsTest::ended).sum()).isPositive();
    }
  }

  private static void failOneAppendOf(Set<String> followers) {
    Set<String> left = ConcurrentHashMap.newKeySet();
    left.addAll(followers);
    CodeInjectionForTesting.put(
        IN_APPEND,
        (node, _, _) -> {
          if (left.remove(String.valueOf(node))) throw new IllegalStateException("the test has this append fail");
          return false;
        });
    await().atMost(Trio.DEADLINE).until(left::isEmpty);
  }

  private static double ended(Trio.Node node) {
    return node.meters.get("dunlin.store.appends.failed").counter().count();
  }
}
