package dunlin.store.grpc;

import dunlin.runtime.LineLimit;
import io.grpc.netty.GrpcHttp2ConnectionHandler;
import io.grpc.netty.InternalProtocolNegotiator;
import io.grpc.netty.InternalProtocolNegotiators;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AsciiString;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import javax.net.ssl.SSLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS of a gRPC server that logs who was refused, or has refused this node, in a handshake. gRPC itself only closes the
 * connection, so the log of the node that an operator looks at would have nothing.
 */
final class WatchedHandshakes implements InternalProtocolNegotiator.ProtocolNegotiator {
  /*
   * gRPC has no public way to a connection before its handshake has ended; a release that changes this one does not
   * compile.
   *
   * Owner: each handler belongs to its connection's event loop.
   * Bounds: anyone who reaches the port can cause a line, so there are LINES in each PERIOD; a line says how many were
   * left out before it. A handler is removed when the first bytes come.
   */
  private static final Logger log = LoggerFactory.getLogger(WatchedHandshakes.class);
  private static final int LINES = 3;
  private static final Duration PERIOD = Duration.ofSeconds(10);

  private final InternalProtocolNegotiator.ProtocolNegotiator tls;
  private final LineLimit lines = new LineLimit(LINES, PERIOD, System::nanoTime);

  WatchedHandshakes(SslContext context) {
    tls = InternalProtocolNegotiators.serverTls(context);
  }

  @Override
  public AsciiString scheme() {
    return tls.scheme();
  }

  @Override
  public ChannelHandler newHandler(GrpcHttp2ConnectionHandler grpc) {
    return new Watching(tls.newHandler(grpc));
  }

  @Override
  public void close() {
    tls.close();
  }

  /** Stands in front of gRPC's handlers until the first bytes come; by then they have added the one for TLS. */
  private final class Watching extends ChannelInboundHandlerAdapter {
    private final ChannelHandler negotiation;

    private Watching(ChannelHandler negotiation) {
      this.negotiation = negotiation;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
      context.pipeline().addAfter(context.name(), null, negotiation);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      var channel = context.channel();
      var handshake = channel.pipeline().get(SslHandler.class);
      if (handshake != null) {
        var _ =
            handshake
                .handshakeFuture()
                .addListener(
                    done -> {
                      if (!done.isSuccess()) failed(channel, done.cause());
                    });
      }
      context.fireChannelRead(bytes);
      context.pipeline().remove(this);
    }
  }

  private void failed(Channel channel, Throwable cause) {
    // Whoever only connects and goes, such as a load balancer, was not refused.
    if (cause instanceof ClosedChannelException || !(cause instanceof SSLException)) return;
    if (!lines.admits()) return;
    String why = cause instanceof NotSslRecordException ? "it does not speak TLS" : FailureText.of(cause);
    log.warn(
        "A connection of {} to the service port has failed in the TLS handshake: {}; {} more were not logged",
        channel.remoteAddress(), why, lines.leftOut());
  }
}
