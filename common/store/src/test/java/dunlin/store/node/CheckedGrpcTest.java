package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.ReplicaRole;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.Trio;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto.AppendResult;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.thirdparty.io.grpc.Server;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;
import org.apache.ratis.thirdparty.io.grpc.stub.StreamObserver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Forged answers of an attacker in the place of a peer. */
class CheckedGrpcTest {
  @TempDir Path directory;

  @Test
  void aForgedAnswerToALeaderDoesNotDeposeIt() throws Exception {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      var replaced = trio.followers().getFirst();
      long term = leader.range().status().term();
      replaced.close();
      var impostor = impostor(replaced.port, Long.MAX_VALUE - 1);
      try {
        await().atMost(Trio.DEADLINE).until(() -> refused(leader) > 2);

        assertThat(leader.role()).isEqualTo(ReplicaRole.LEADER);
        assertThat(leader.range().status().term()).isEqualTo(term);
        assertThat(trio.apply(new Put("a", "2"))).isEqualTo("put");
      } finally {
        impostor.shutdownNow().awaitTermination();
      }
      replaced.restart();
      await().atMost(Trio.DEADLINE).until(() -> replaced.rows().contains("a=2"));
    }
  }

  @Test
  void aForgedAnswerToACandidateDoesNotUseUpItsTerms() throws Exception {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      var candidate = trio.followers().getFirst();
      var replaced = trio.followers().getLast();
      long term = leader.range().status().term();
      replaced.close();
      leader.close();
      var impostor = impostor(replaced.port, Long.MAX_VALUE - 1);
      try {
        await().atMost(Trio.DEADLINE).until(() -> refused(candidate) > 2);
        assertThat(candidate.range().status().term()).isLessThan(term + 1_000);
      } finally {
        impostor.shutdownNow().awaitTermination();
      }
      leader.restart();
      assertThat(trio.apply(new Put("a", "2"))).isEqualTo("put");
      assertThat(trio.leader().range().status().term()).isLessThan(term + 1_000);
    }
  }

  /** A higher term that an election can have led to is accepted, or a leader would never learn that there is another. */
  @Test
  void aPlausibleTermIsAccepted() throws Exception {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = trio.leader();
      var replaced = trio.followers().getFirst();
      long higher = leader.range().status().term() + 5;
      replaced.close();
      var impostor = impostor(replaced.port, higher);
      try {
        await().atMost(Trio.DEADLINE).until(() -> leader.range().status().term() >= higher);
        assertThat(refused(leader)).isZero();
      } finally {
        impostor.shutdownNow().awaitTermination();
      }
    }
  }

  private static double refused(Trio.Node node) {
    return node.meters.get("dunlin.store.peer-calls.refused").tag("reason", "answer-term").counter().count();
  }

  /** Refuses every request, with this term. */
  private static Server impostor(int port, long term) throws Exception {
    return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
        .addService(
            new RaftServerProtocolServiceGrpc.RaftServerProtocolServiceImplBase() {
              @Override
              public void requestVote(RequestVoteRequestProto request, StreamObserver<RequestVoteReplyProto> to) {
                to.onNext(RequestVoteReplyProto.newBuilder().setServerReply(refusal(request.getServerRequest())).setTerm(term).build());
                to.onCompleted();
              }

              @Override
              public StreamObserver<AppendEntriesRequestProto> appendEntries(StreamObserver<AppendEntriesReplyProto> to) {
                return new StreamObserver<>() {
                  @Override
                  public void onNext(AppendEntriesRequestProto request) {
                    to.onNext(
                        AppendEntriesReplyProto.newBuilder()
                            .setServerReply(refusal(request.getServerRequest()))
                            .setTerm(term)
                            .setResult(AppendResult.NOT_LEADER)
                            .setIsHearbeat(request.getEntriesCount() == 0)
                            .build());
                  }

                  @Override
                  public void onError(Throwable failure) {}

                  @Override
                  public void onCompleted() {
                    to.onCompleted();
                  }
                };
              }
            })
        .build()
        .start();
  }

  private static RaftRpcReplyProto refusal(RaftRpcRequestProto request) {
    return RaftRpcReplyProto.newBuilder()
        .setRequestorId(request.getRequestorId())
        .setReplyId(request.getReplyId())
        .setRaftGroupId(request.getRaftGroupId())
        .setCallId(request.getCallId())
        .setSuccess(false)
        .build();
  }
}
