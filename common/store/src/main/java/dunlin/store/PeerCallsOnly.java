package dunlin.store;

import java.util.EnumSet;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.ReadIndexRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;

/**
 * Lets only Raft's own calls through the cluster port, and only those that are meant for this node. Ratis would also serve its clients
 * and administrators there, which may write into a log and change its peers; we do both inside the process. And it does not
 * compare whom a call is for: a new node at the address of one that has lost its disk would vote and acknowledge in that one's name.
 */
final class PeerCallsOnly implements GrpcServices.Customizer, ServerInterceptor {
  private final ByteString self;

  PeerCallsOnly(RaftPeerId self) {
    this.self = self.toByteString();
  }

  @Override
  public NettyServerBuilder customize(NettyServerBuilder builder, EnumSet<GrpcServices.Type> types) {
    return builder.intercept(this);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    if (RaftServerProtocolServiceGrpc.SERVICE_NAME.equals(call.getMethodDescriptor().getServiceName()))
      return new Meant<>(call, next.startCall(call, headers));
    call.close(Status.PERMISSION_DENIED.withDescription("only Raft's own calls are served here"), new Metadata());
    return new ServerCall.Listener<>() {};
  }

  /** Passes on what is meant for this node, and ends the call with the first that is not. */
  private final class Meant<Q, A> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, A> call;
    private boolean refused; // of the call's thread

    Meant(ServerCall<Q, A> call, ServerCall.Listener<Q> next) {
      super(next);
      this.call = call;
    }

    @Override
    public void onMessage(Q message) {
      if (refused) return;
      if (receiver(message).equals(self)) {
        super.onMessage(message);
        return;
      }
      refused = true;
      super.onCancel();
      call.close(Status.FAILED_PRECONDITION.withDescription("this is node " + self.toStringUtf8()), new Metadata());
    }

    @Override
    public void onHalfClose() {
      if (!refused) super.onHalfClose();
    }
  }

  private static ByteString receiver(Object request) {
    return switch (request) {
      case AppendEntriesRequestProto append -> append.getServerRequest().getReplyId();
      case RequestVoteRequestProto vote -> vote.getServerRequest().getReplyId();
      case InstallSnapshotRequestProto install -> install.getServerRequest().getReplyId();
      case StartLeaderElectionRequestProto start -> start.getServerRequest().getReplyId();
      case ReadIndexRequestProto read -> read.getServerRequest().getReplyId();
      default -> ByteString.EMPTY;
    };
  }
}
