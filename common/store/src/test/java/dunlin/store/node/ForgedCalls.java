package dunlin.store.node;

import dunlin.store.disk.RatisPeers;
import dunlin.store.raft.Trio;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
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
import org.apache.ratis.thirdparty.io.grpc.netty.GrpcSslContexts;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyChannelBuilder;
import org.apache.ratis.thirdparty.io.grpc.stub.StreamObserver;

/** Forged calls of an attacker who reaches the cluster port. */
final class ForgedCalls {
  private ForgedCalls() {}

  private static RaftRpcRequestProto inTheNameOf(String caller, Trio.Node node) {
    return RaftRpcRequestProto.newBuilder()
        .setRequestorId(ByteString.copyFromUtf8(caller))
        .setReplyId(RatisPeers.id(node.id()).toByteString())
        .setRaftGroupId(RaftGroupIdProto.newBuilder().setId(RaftGroupId.valueOf(Trio.RANGE.uuid()).toByteString()))
        .setCallId(1)
        .build();
  }

  static void append(Trio.Node node, String caller, long term) throws Exception {
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

  /** A call in the name of a node, to be damaged or sent as another one. */
  static byte[] bytes(Trio.Node node, String caller, long term) {
    return RequestVoteRequestProto.newBuilder().setServerRequest(inTheNameOf(caller, node)).setCandidateTerm(term).build().toByteArray();
  }

  static RequestVoteReplyProto vote(Trio.Node node, String caller, long term) {
    return vote(node, channel(node), caller, term);
  }

  /** Asks for a vote over TLS, with this certificate. */
  static RequestVoteReplyProto vote(Trio.Node node, PeerTls shown, String caller, long term) throws SSLException {
    var context = GrpcSslContexts.forClient().keyManager(shown.keys()).trustManager(shown.trust()).build();
    return vote(node, NettyChannelBuilder.forAddress("127.0.0.1", node.port).sslContext(context).build(), caller, term);
  }

  private static RequestVoteReplyProto vote(Trio.Node node, ManagedChannel channel, String caller, long term) {
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
