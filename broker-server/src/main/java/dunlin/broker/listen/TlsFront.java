package dunlin.broker.listen;

import dunlin.broker.tls.OcspVerdict;
import dunlin.broker.tls.OcspWatch;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Counts and logs a failed TLS handshake or a certificate that is revoked, and removes itself after a successful handshake: at once, or when a responder has
 * said that the client's certificate is good.
 */
final class TlsFront extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the connection's event loop.
   * Bounds: while a responder is asked, nothing is read from the connection; what had been read with the end of the handshake is kept, which is one read at most.
   *   The deadline for CONNECT goes on.
   */
  private final Listener listener;
  private final Queue<Object> kept = new ArrayDeque<>();
  private boolean asking;

  TlsFront(Listener listener) {
    this.listener = listener;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof SslHandshakeCompletionEvent handshake) {
      if (handshake.isSuccess() && !listener.admitCertified(ctx.channel())) {
        // Here, not while certificates are verified, which a resumed session leaves out.
        refuse(ctx, ListenerRefusal.CERTIFICATE_REVOKED, "the client's certificate is revoked");
        return;
      } else if (handshake.isSuccess()) {
        OcspWatch responder = listener.responder();
        if (responder == null) ctx.pipeline().remove(this);
        else ask(ctx, responder);
      } else if (!(handshake.cause() instanceof ClosedChannelException)) { // a client that has disconnected has not failed
        refuse(ctx, ListenerRefusal.TLS_HANDSHAKE, String.valueOf(handshake.cause().getMessage()));
      }
    }
    ctx.fireUserEventTriggered(event);
  }

  private void refuse(ChannelHandlerContext ctx, ListenerRefusal reason, String explanation) {
    listener.refused(reason, ctx.channel(), explanation);
    ctx.close();
  }

  private void ask(ChannelHandlerContext ctx, OcspWatch responder) {
    asking = true;
    ctx.channel().config().setAutoRead(false);
    var _ = listener.ask(responder, ctx.channel()).thenAccept(verdict -> ctx.executor().execute(() -> answered(ctx, responder, verdict)));
  }

  private void answered(ChannelHandlerContext ctx, OcspWatch responder, OcspVerdict verdict) {
    if (ctx.isRemoved() || !ctx.channel().isOpen()) return;
    if (verdict.status() == OcspVerdict.Status.REVOKED) {
      refuse(ctx, ListenerRefusal.CERTIFICATE_REVOKED, "the client's certificate is revoked, says the responder");
    } else if (!responder.admits(verdict)) {
      refuse(ctx, ListenerRefusal.CERTIFICATE_UNCHECKED, "the client's certificate could not be checked: " + verdict.explanation());
    } else {
      asking = false;
      ctx.channel().config().setAutoRead(true); // first, since what follows may have a reason to read no more
      for (Object bytes = kept.poll(); bytes != null; bytes = kept.poll()) ctx.fireChannelRead(bytes);
      ctx.fireChannelReadComplete();
      ctx.pipeline().remove(this);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object bytes) {
    if (asking) kept.add(bytes);
    else ctx.fireChannelRead(bytes);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    for (Object bytes = kept.poll(); bytes != null; bytes = kept.poll()) ReferenceCountUtil.release(bytes);
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    // Bytes that are not TLS at all cause this and a failed handshake; only the latter is counted.
    if (cause instanceof DecoderException) ctx.close();
    else ctx.fireExceptionCaught(cause);
  }
}
