package dunlin.broker.listen;

import dunlin.runtime.LogText;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.haproxy.HAProxyCommand;
import io.netty.handler.codec.haproxy.HAProxyMessage;
import io.netty.handler.codec.haproxy.HAProxyProxiedProtocol;
import io.netty.util.AttributeKey;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles the PROXY protocol header, version 1 or 2, that the decoder in front has read: records the client's address
 * and removes itself. For LOCAL (the proxy itself) and UNKNOWN the connection keeps its own address. Whether a client
 * is on this machine is decided by the address in the header; a client without one counts as remote.
 */
public final class ProxyFront extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the channel's event loop.
   * Bounds: a header of version 1 has 107 bytes, one of version 2 EXTENSIONS_MAX plus the addresses; the connect
   * timeout applies.
   * Failure: a connection with a missing or invalid header is counted and closed.
   */
  /** Maximum number of bytes of extensions, such as TLS names; they are ignored. */
  static final int EXTENSIONS_MAX = 4_096;

  private static final AttributeKey<SocketAddress> SOURCE = AttributeKey.valueOf(ProxyFront.class, "source");
  private static final AttributeKey<Boolean> UNNAMED = AttributeKey.valueOf(ProxyFront.class, "unnamed");
  private static final Logger log = LoggerFactory.getLogger(ProxyFront.class);

  private final Listener listener;

  /**
   * Set after an invalid header, because the decoder reads the following bytes as another header when the connection
   * ends.
   */
  private boolean refused;

  ProxyFront(Listener listener) {
    this.listener = listener;
  }

  /** The client's address that a proxy has transmitted, or null. */
  static @Nullable SocketAddress sourceOf(Channel channel) {
    return channel.hasAttr(SOURCE) ? channel.attr(SOURCE).get() : null;
  }

  /** Whether a proxy forwards this connection for a client on another machine, or for an unknown client. */
  public static boolean speaksForAnotherMachine(Channel channel) {
    if (channel.hasAttr(UNNAMED)) return true;
    return sourceOf(channel) instanceof InetSocketAddress source && !source.getAddress().isLoopbackAddress();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object data) {
    if (!(data instanceof HAProxyMessage header)) {
      ctx.fireChannelRead(data);
      return;
    }
    try {
      take(ctx, header);
    } finally {
      header.release();
    }
  }

  private void take(ChannelHandlerContext ctx, HAProxyMessage header) {
    if (refused) return; // the connection is closed, and its address would stay counted for ever
    HAProxyProxiedProtocol protocol = header.proxiedProtocol();
    if (header.command() == HAProxyCommand.PROXY && protocol == HAProxyProxiedProtocol.UNKNOWN) {
      ctx.channel().attr(UNNAMED).set(true);
    } else if (header.command() == HAProxyCommand.PROXY) {
      SocketAddress source = source(header);
      if (source == null) {
        refuse(ctx, ListenerRefusal.PROXY_HEADER, "it proxies " + protocol);
        return;
      }
      if (!listener.admitProxied(source)) {
        refuse(ctx, ListenerRefusal.ADDRESS, "too many connections of " + source);
        return;
      }
      ctx.channel().attr(SOURCE).set(source);
    }
    ctx.pipeline().remove(this);
  }

  private static @Nullable SocketAddress source(HAProxyMessage header) {
    String text = header.sourceAddress();
    return switch (header.proxiedProtocol()) {
      case TCP4, TCP6 -> internetAddress(text, header.sourcePort());
      case UNIX_STREAM -> new DomainSocketAddress(text == null ? "" : LogText.escaped(text)); // others may log it
      case UDP4, UDP6, UNIX_DGRAM, UNKNOWN -> null;
    };
  }

  private static @Nullable SocketAddress internetAddress(@Nullable String literal, int port) {
    byte @Nullable [] bytes = literal == null ? null : NetUtil.createByteArrayFromIpAddressString(literal);
    if (bytes == null) return null;
    try {
      return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address of " + bytes.length + " bytes", e);
    }
  }

  private void refuse(ChannelHandlerContext ctx, ListenerRefusal reason, String why) {
    if (refused) return;
    refused = true;
    listener.refused(reason);
    log.debug("PROXY protocol of {} refused: {}", ctx.channel().remoteAddress(), LogText.quoted(why));
    ctx.close();
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (cause instanceof DecoderException) refuse(ctx, ListenerRefusal.PROXY_HEADER, String.valueOf(cause.getMessage()));
    else ctx.fireExceptionCaught(cause);
  }
}
