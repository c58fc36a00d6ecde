package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.ReplicaRole;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.Trio;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Forged calls of an attacker who reaches the cluster port. */
class PeerCallersTest {
  @TempDir Path directory;

  @Test
  void aStrangerCannotDeposeALeader() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      long term = leader.range().status().term();
      String stranger = UUID.randomUUID().toString();

      for (String name : new String[] {stranger, "no identifier", ""}) {
        assertThatThrownBy(() -> ForgedCalls.append(leader, name, term + 5))
            .hasMessageContaining("PERMISSION_DENIED: the caller is no peer of this group");
        assertThatThrownBy(() -> ForgedCalls.vote(leader, name, term + 5))
            .hasMessageContaining("PERMISSION_DENIED: the caller is no peer of this group");
      }

      assertThat(leader.range().status().term()).isEqualTo(term);
      assertThat(leader.role()).isEqualTo(ReplicaRole.LEADER);
      assertThat(trio.apply(new Put("a", "2"))).isEqualTo("put");
      assertThat(leader.meters.get("dunlin.store.peer-calls.refused").tag("reason", "stranger").counter().count()).isEqualTo(6);
    }
  }

  @Test
  void anImpossibleTermIsRefused() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      var follower = trio.followers().getFirst();
      String peer = follower.id().toString();
      long term = leader.range().status().term();

      for (long wrong : new long[] {Long.MAX_VALUE, Long.MAX_VALUE - 1, term + PeerCallers.TERM_JUMP_MAX + 1, -1}) {
        assertThatThrownBy(() -> ForgedCalls.append(leader, peer, wrong))
            .hasMessageContaining("PERMISSION_DENIED: term " + wrong + " is too far from");
        assertThatThrownBy(() -> ForgedCalls.vote(leader, peer, wrong)).hasMessageContaining("PERMISSION_DENIED: term " + wrong + " is too far from");
      }

      assertThat(leader.range().status().term()).isEqualTo(term);
      leader.close();
      assertThat(trio.apply(new Put("a", "2"))).as("the others elect one").isEqualTo("put");
      leader.restart();
      assertThat(trio.apply(new Put("a", "3"))).isEqualTo("put");
      assertThat(trio.leader().range().status().term()).isLessThan(term + 1_000);
    }
  }

  /** While a node was away, all peers of a group may have been replaced: it must accept calls from one that it does not know as a peer. */
  @Test
  void callsOfAnyNodeOfTheClusterAreAccepted() throws Exception {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var follower = trio.followers().getFirst();
      UUID newcomer = UUID.randomUUID();
      follower.store().members(node -> node.equals(newcomer) ? Optional.of("127.0.0.1") : Optional.empty());

      // With an old term: the call is accepted, and Raft refuses the vote.
      assertThat(ForgedCalls.vote(follower, newcomer.toString(), 0).getServerReply().getSuccess()).isFalse();
      assertThatThrownBy(() -> ForgedCalls.vote(follower, UUID.randomUUID().toString(), 0)).hasMessageContaining("no peer of this group");
      assertThatThrownBy(() -> ForgedCalls.vote(follower, newcomer.toString(), Long.MAX_VALUE)).hasMessageContaining("too far from");
    }
  }
}
