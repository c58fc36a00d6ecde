package dunlin.store;

import java.util.EnumSet;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;

/**
 * Lets only Raft's own calls through the cluster port. Ratis would also serve its clients and administrators there, which
 * may write into a log and change its peers; we do both inside the process.
 */
final class PeerCallsOnly implements GrpcServices.Customizer, ServerInterceptor {
  @Override
  public NettyServerBuilder customize(NettyServerBuilder builder, EnumSet<GrpcServices.Type> types) {
    return builder.intercept(this);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    if (RaftServerProtocolServiceGrpc.SERVICE_NAME.equals(call.getMethodDescriptor().getServiceName()))
      return next.startCall(call, headers);
    call.close(Status.PERMISSION_DENIED.withDescription("only Raft's own calls are served here"), new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
