package dunlin.store.node;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.ReadIndexRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.apache.ratis.thirdparty.io.grpc.Grpc;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;
import org.jspecify.annotations.Nullable;

/**
 * Admits only Raft's own calls on the cluster port, only from peers ({@link PeerCallers}), and only when they are
 * addressed to this node. Ratis would also serve its clients and administrators there, which may write into a log and
 * change its peers; we do both inside the process. It does not check the addressee of a call: a new node at the address
 * of one that has lost its disk would vote and acknowledge in that one's name. And it passes calls to a group that it
 * is still starting, which makes that start fail when peers call all the time. Appends of entries take
 * turns within their group ({@link GroupTurns}).
 */
final class PeerCallsOnly implements GrpcServices.Customizer, ServerInterceptor {
  /*
   * Owner: the code that adds a group calls starting and started, the maintenance mutes groups; calls come on any thread of gRPC.
   * Bounds: as many groups as are being added, and as many as there are.
   */
  private final ByteString self;
  private final PeerCallers callers;
  private final Set<ByteString> starting = ConcurrentHashMap.newKeySet();
  private final Set<ByteString> muted = ConcurrentHashMap.newKeySet();
  private final GroupTurns appends = new GroupTurns();

  PeerCallsOnly(RaftPeerId self, PeerCallers callers) {
    this.self = self.toByteString();
    this.callers = callers;
  }

  /** Refuses calls for this group until {@link #started}. */
  void starting(RaftGroupId group) {
    starting.add(group.toByteString());
  }

  void started(RaftGroupId group) {
    starting.remove(group.toByteString());
  }

  /** Refuses calls for this group, or passes them again. */
  void mute(RaftGroupId group, boolean mute) {
    if (mute) muted.add(group.toByteString());
    else muted.remove(group.toByteString());
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

  /** Passes on messages addressed to this node, and ends the call at the first that is not. */
  private final class Meant<Q, A> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, A> call;
    private final @Nullable CertificateNames names; // null without TLS
    private boolean refused; // used by the call's thread only

    Meant(ServerCall<Q, A> call, ServerCall.Listener<Q> next) {
      super(next);
      this.call = call;
      var session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
      names = session == null ? null : CertificateNames.of(session);
    }

    @Override
    public void onMessage(Q message) {
      if (refused) return;
      var meant = meantFor(message);
      if (!meant.getReplyId().equals(self))
        refuse(Status.FAILED_PRECONDITION.withDescription("this is node " + self.toStringUtf8()));
      else if (starting.contains(meant.getRaftGroupId().getId()))
        refuse(Status.UNAVAILABLE.withDescription("the group is about to start"));
      else if (muted.contains(meant.getRaftGroupId().getId()))
        refuse(Status.UNAVAILABLE.withDescription("the disk has no room for the rows of the group"));
      else {
        var from = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
        String objection = callers.objection(meant, termOf(message), names, from);
        if (objection != null) refuse(Status.PERMISSION_DENIED.withDescription(objection));
        else if (message instanceof AppendEntriesRequestProto append && append.getEntriesCount() > 0)
          appends.run(meant.getRaftGroupId().getId(), () -> super.onMessage(message));
        else super.onMessage(message);
      }
    }

    private void refuse(Status why) {
      refused = true;
      super.onCancel();
      call.close(why, new Metadata());
    }

    @Override
    public void onHalfClose() {
      if (!refused) super.onHalfClose();
    }
  }

  /** The term that this node would adopt from a call; 0 for a call without one. */
  private static long termOf(Object request) {
    return switch (request) {
      case AppendEntriesRequestProto append -> append.getLeaderTerm();
      case RequestVoteRequestProto vote -> vote.getCandidateTerm();
      case InstallSnapshotRequestProto install -> install.getLeaderTerm();
      case StartLeaderElectionRequestProto start -> start.getLeaderLastEntry().getTerm();
      default -> 0;
    };
  }

  private static RaftRpcRequestProto meantFor(Object request) {
    return switch (request) {
      case AppendEntriesRequestProto append -> append.getServerRequest();
      case RequestVoteRequestProto vote -> vote.getServerRequest();
      case InstallSnapshotRequestProto install -> install.getServerRequest();
      case StartLeaderElectionRequestProto start -> start.getServerRequest();
      case ReadIndexRequestProto read -> read.getServerRequest();
      default -> RaftRpcRequestProto.getDefaultInstance();
    };
  }
}
