package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.ReplicaRole;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.Trio;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With TLS, the name of a caller must match its certificate. */
class PeerNamesTest {
  @TempDir Path directory;

  @Test
  void aCertificateOfAnotherNodeIsRefused() throws Exception {
    var authority = new TestAuthority(directory, "ours");
    var security = authority.issue("node", "ip:127.0.0.1").security();
    try (var trio = Trio.start(directory.resolve("trio"), cluster -> secured(cluster, security), UnaryOperator.identity())) {
      assertThat(trio.apply(new Put("a", "1"))).as("nodes whose certificates name their hosts replicate").isEqualTo("put");
      var leader = trio.leader();
      long term = leader.range().status().term();
      String peer = trio.followers().getFirst().id().toString();
      var stranger = new PeerTls(authority.issue("stranger", "dns:elsewhere.example,ip:127.0.0.2").security());

      assertThatThrownBy(() -> ForgedCalls.vote(leader, stranger, peer, term + 5))
          .hasMessageContaining("PERMISSION_DENIED: the caller's certificate names neither this node nor its host, 127.0.0.1");

      assertThat(refused(leader)).isEqualTo(1);
      assertThat(leader.role()).isEqualTo(ReplicaRole.LEADER);
      assertThat(leader.range().status().term()).isEqualTo(term);
      // With an old term: the calls are accepted, and Raft refuses the votes.
      var byHost = new PeerTls(security);
      var byId = new PeerTls(authority.issue("by-id", "dns:" + peer).security());
      for (var shown : new PeerTls[] {byHost, byId}) assertThat(ForgedCalls.vote(leader, shown, peer, 0).getServerReply().getSuccess()).isFalse();
      assertThatThrownBy(() -> ForgedCalls.vote(leader, byId, trio.followers().getLast().id().toString(), 0)).hasMessageContaining("certificate");
      assertThat(refused(leader)).isEqualTo(2);
    }
  }

  /** Also in the name of the node itself: a frontend that is broken into cannot vote, depose or append. */
  @Test
  void aFrontendsCertificateIsRefused() throws Exception {
    var authority = new TestAuthority(directory, "ours");
    var security = authority.issue("node", "ip:127.0.0.1").security();
    try (var trio = Trio.start(directory.resolve("trio"), cluster -> secured(cluster, security), UnaryOperator.identity())) {
      assertThat(trio.apply(new Put("a", "1"))).isEqualTo("put");
      var leader = trio.leader();
      String peer = trio.followers().getFirst().id().toString();
      var frontend = new PeerTls(authority.issue("frontend", "dns:" + peer + ",ip:127.0.0.1,uri:urn:dunlin:role:frontend").security());

      assertThatThrownBy(() -> ForgedCalls.vote(leader, frontend, peer, leader.range().status().term() + 5))
          .hasMessageContaining("PERMISSION_DENIED: the caller's certificate is that of a frontend");
      assertThat(refused(leader)).isEqualTo(1);
      assertThat(leader.role()).isEqualTo(ReplicaRole.LEADER);
    }
  }

  @Test
  void aCertificateMayNameTheHostThatTheClusterKnows() throws Exception {
    var authority = new TestAuthority(directory, "ours");
    var security = authority.issue("node", "ip:127.0.0.1").security();
    try (var trio = Trio.start(directory.resolve("trio"), cluster -> secured(cluster, security), UnaryOperator.identity())) {
      var leader = trio.leader();
      UUID newcomer = UUID.randomUUID();
      leader.store().members(node -> node.equals(newcomer) ? Optional.of("node-4.example") : Optional.empty());
      var own = new PeerTls(authority.issue("newcomer", "dns:node-4.example").security());

      assertThat(ForgedCalls.vote(leader, own, newcomer.toString(), 0).getServerReply().getSuccess()).isFalse();
      assertThatThrownBy(() -> ForgedCalls.vote(leader, new PeerTls(security), newcomer.toString(), 0)).hasMessageContaining("node-4.example");
    }
  }

  private static double refused(Trio.Node node) {
    return node.meters.get("dunlin.store.peer-calls.refused").tag("reason", "certificate").counter().count();
  }

  private static ClusterSettings secured(ClusterSettings cluster, PeerSecurity security) {
    return new ClusterSettings(
        cluster.port(), cluster.host(), cluster.bindAddress(), security, cluster.electionTimeout(), cluster.entriesKept(),
        cluster.installBytesPerSecond(), cluster.installDeadline());
  }
}
