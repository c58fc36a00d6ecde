package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.ReplicaRole;
import dunlin.store.disk.RatisPeers;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.Trio;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftGroupIdProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.TermIndexProto;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.grpc.ManagedChannel;
import org.apache.ratis.thirdparty.io.grpc.StatusRuntimeException;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyChannelBuilder;
import org.apache.ratis.thirdparty.io.grpc.stub.StreamObserver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls to the cluster port as somebody would forge them who reaches it. */
class PeerCallersTest {
  @TempDir Path directory;

  @Test
  void aStrangerDeposesNobody() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      long term = leader.range().status().term();
      String stranger = UUID.randomUUID().toString();

      for (String name : new String[] {stranger, "no identifier", ""}) {
        assertThatThrownBy(() -> append(leader, name, term + 5)).hasMessageContaining("PERMISSION_DENIED: the caller is no peer of this group");
        assertThatThrownBy(() -> vote(leader, name, term + 5)).hasMessageContaining("PERMISSION_DENIED: the caller is no peer of this group");
      }

      assertThat(leader.range().status().term()).isEqualTo(term);
      assertThat(leader.role()).isEqualTo(ReplicaRole.LEADER);
      assertThat(trio.apply(new Put("a", "2"))).isEqualTo("put");
      assertThat(leader.meters.get("dunlin.store.peer-calls.refused").tag("reason", "stranger").counter().count()).isEqualTo(6);
    }
  }

  @Test
  void noTermIsBelievedThatNoElectionCanHaveLedTo() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      var follower = trio.followers().getFirst();
      String peer = follower.id().toString();
      long term = leader.range().status().term();

      for (long wrong : new long[] {Long.MAX_VALUE, Long.MAX_VALUE - 1, term + PeerCallers.TERM_JUMP_MAX + 1, -1}) {
        assertThatThrownBy(() -> append(leader, peer, wrong)).hasMessageContaining("PERMISSION_DENIED: term " + wrong + " is too far from");
        assertThatThrownBy(() -> vote(leader, peer, wrong)).hasMessageContaining("PERMISSION_DENIED: term " + wrong + " is too far from");
      }

      assertThat(leader.range().status().term()).isEqualTo(term);
      leader.close();
      assertThat(trio.apply(new Put("a", "2"))).as("the others elect one").isEqualTo("put");
      leader.restart();
      assertThat(trio.apply(new Put("a", "3"))).isEqualTo("put");
      assertThat(trio.leader().range().status().term()).isLessThan(term + 1_000);
    }
  }

  /** The peers of a group may all be others by now for a node that was away: then one that it does not know has to be heard. */
  @Test
  void aNodeOfTheClusterIsHeard() throws Exception {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var follower = trio.followers().getFirst();
      UUID newcomer = UUID.randomUUID();
      follower.store().members(newcomer::equals);

      // Of an old term: it is heard, and its vote is refused as Raft wants it.
      assertThat(vote(follower, newcomer.toString(), 0).getServerReply().getSuccess()).isFalse();
      assertThatThrownBy(() -> vote(follower, UUID.randomUUID().toString(), 0)).hasMessageContaining("no peer of this group");
      assertThatThrownBy(() -> vote(follower, newcomer.toString(), Long.MAX_VALUE)).hasMessageContaining("too far from");
    }
  }

  private static RaftRpcRequestProto inTheNameOf(String caller, Trio.Node node) {
    return RaftRpcRequestProto.newBuilder()
        .setRequestorId(ByteString.copyFromUtf8(caller))
        .setReplyId(RatisPeers.id(node.id()).toByteString())
        .setRaftGroupId(RaftGroupIdProto.newBuilder().setId(RaftGroupId.valueOf(Trio.RANGE.uuid()).toByteString()))
        .setCallId(1)
        .build();
  }

  private static void append(Trio.Node node, String caller, long term) throws Exception {
    var request =
        AppendEntriesRequestProto.newBuilder().setServerRequest(inTheNameOf(caller, node)).setLeaderTerm(term).setLeaderCommit(0).build();
    var channel = channel(node);
    var answer = new CompletableFuture<AppendEntriesReplyProto>();
    try {
      var calls =
          RaftServerProtocolServiceGrpc.newStub(channel)
              .appendEntries(
                  new StreamObserver<>() {
                    @Override
                    public void onNext(AppendEntriesReplyProto reply) {
                      answer.complete(reply);
                    }

                    @Override
                    public void onError(Throwable failure) {
                      answer.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {
                      answer.completeExceptionally(new IllegalStateException("no answer"));
                    }
                  });
      calls.onNext(request);
      answer.get(Trio.DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StatusRuntimeException refused) throw refused;
      throw e;
    } finally {
      channel.shutdownNow();
    }
  }

  private static RequestVoteReplyProto vote(Trio.Node node, String caller, long term) {
    var channel = channel(node);
    try {
      return RaftServerProtocolServiceGrpc.newBlockingStub(channel)
          .requestVote(
              RequestVoteRequestProto.newBuilder()
                  .setServerRequest(inTheNameOf(caller, node))
                  .setCandidateTerm(term)
                  .setCandidateLastEntry(TermIndexProto.newBuilder().setTerm(Math.max(0, term - 1)).setIndex(1_000_000))
                  .build());
    } finally {
      channel.shutdownNow();
    }
  }

  private static ManagedChannel channel(Trio.Node node) {
    return NettyChannelBuilder.forAddress("127.0.0.1", node.port).usePlaintext().build();
  }
}
