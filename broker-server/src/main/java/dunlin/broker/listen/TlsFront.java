package dunlin.broker.listen;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import java.nio.channels.ClosedChannelException;

/** Counts and logs a failed TLS handshake or a revoked certificate, and removes itself after a successful handshake. */
final class TlsFront extends ChannelInboundHandlerAdapter {
  private final Listener listener;

  TlsFront(Listener listener) {
    this.listener = listener;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof SslHandshakeCompletionEvent handshake) {
      if (handshake.isSuccess() && listener.admitCertified(ctx.channel())) {
        ctx.pipeline().remove(this);
      } else if (handshake.isSuccess()) {
        // Here, not while certificates are verified, which a resumed session leaves out.
        listener.refused(ListenerRefusal.CERTIFICATE_REVOKED, ctx.channel(), "the client's certificate is revoked");
        ctx.close();
        return;
      } else if (!(handshake.cause() instanceof ClosedChannelException)) { // a client that has disconnected has not failed
        listener.refused(ListenerRefusal.TLS_HANDSHAKE, ctx.channel(), String.valueOf(handshake.cause().getMessage()));
        ctx.close();
      }
    }
    ctx.fireUserEventTriggered(event);
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    // Bytes that are not TLS at all cause this and a failed handshake; only the latter is counted.
    if (cause instanceof DecoderException) ctx.close();
    else ctx.fireExceptionCaught(cause);
  }
}
