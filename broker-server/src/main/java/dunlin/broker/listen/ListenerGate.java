package dunlin.broker.listen;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closes accepted connections that the listener refuses, before Netty assigns them to event loops. */
final class ListenerGate extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the event loop that accepts.
   * Failure: an accept that fails, usually because there are no file descriptors left, is counted and passed on to
   * Netty, which then stops accepting for a second instead of failing again at once.
   */
  private static final Logger log = LoggerFactory.getLogger(ListenerGate.class);

  private final Listener listener;

  ListenerGate(Listener listener) {
    this.listener = listener;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object accepted) {
    Channel child = (Channel) accepted;
    ListenerRefusal refusal = listener.admit(child);
    if (refusal != null) {
      listener.refused(refusal);
      log.debug("Listener {} refused {}: {}", listener.settings().name(), child.remoteAddress(), refusal.label());
      child.unsafe().closeForcibly();
      return;
    }
    child.closeFuture().addListener(listener);
    ctx.fireChannelRead(child);
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    listener.refused(ListenerRefusal.ACCEPT);
    ctx.fireExceptionCaught(cause);
  }
}
