package dunlin.store;

import java.util.EnumSet;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;

/**
 * Refuses every call that comes over the cluster port. A range with one replica has no peers, and whoever reached the
 * port could otherwise depose its leader, change its peers or write into its log.
 */
final class RefuseCalls implements GrpcServices.Customizer, ServerInterceptor {
  @Override
  public NettyServerBuilder customize(NettyServerBuilder builder, EnumSet<GrpcServices.Type> types) {
    return builder.intercept(this);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    call.close(Status.PERMISSION_DENIED.withDescription("this node has no peers"), new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
