package dunlin.broker.listen;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import java.nio.channels.ClosedChannelException;

/** Counts and tells of a TLS handshake that fails, and is gone once one has succeeded. */
final class TlsFront extends ChannelInboundHandlerAdapter {
  private final Listener listener;

  TlsFront(Listener listener) {
    this.listener = listener;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof SslHandshakeCompletionEvent handshake) {
      if (handshake.isSuccess()) {
        ctx.pipeline().remove(this);
      } else if (!(handshake.cause() instanceof ClosedChannelException)) { // who went away has not failed at anything
        listener.refused(ListenerRefusal.TLS_HANDSHAKE, ctx.channel(), String.valueOf(handshake.cause().getMessage()));
        ctx.close();
      }
    }
    ctx.fireUserEventTriggered(event);
  }

  @Override
  @SuppressWarnings("deprecation") // of ChannelHandler's method of that name, not of this class's
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    // What is no TLS at all comes as this and as the failed handshake; once is enough.
    if (cause instanceof DecoderException) ctx.close();
    else ctx.fireExceptionCaught(cause);
  }
}
