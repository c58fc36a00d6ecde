package dunlin.broker.listen;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Stands before the part of Netty that gives accepted connections to event loops, and closes those that the listener refuses. */
final class ListenerGate extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the event loop that accepts.
   * Failure: an accept that fails, mostly for want of file descriptors, is counted and passed on to Netty, which then accepts
   *   nothing for a second rather than failing again at once.
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
      log.debug("listener {} refused {}: {}", listener.settings().name(), child.remoteAddress(), refusal.label());
      child.unsafe().closeForcibly();
      return;
    }
    child.closeFuture().addListener(listener);
    ctx.fireChannelRead(child);
  }

  @Override
  @SuppressWarnings("deprecation") // of ChannelHandler's method of that name, not of this class's
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    listener.refused(ListenerRefusal.ACCEPT);
    ctx.fireExceptionCaught(cause);
  }
}
