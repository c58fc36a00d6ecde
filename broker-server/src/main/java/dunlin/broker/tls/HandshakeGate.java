package dunlin.broker.tls;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Stands in front of a connection's {@link SslHandler} until its first bytes come. Only then does a handshake cost anything, and a proxy has said whose it
 * is. A handshake that finds no room ends the connection.
 */
public final class HandshakeGate extends ChannelInboundHandlerAdapter {
  private final Handshakes handshakes;
  private final Supplier<@Nullable SocketAddress> client;
  private final Runnable refusal;

  /**
   * @param client the client's address, asked when the first bytes have come
   * @param refusal counts a refusal
   */
  public HandshakeGate(Handshakes handshakes, Supplier<@Nullable SocketAddress> client, Runnable refusal) {
    this.handshakes = handshakes;
    this.client = client;
    this.refusal = refusal;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object bytes) {
    SslHandler handshake = ctx.pipeline().get(SslHandler.class);
    if (handshake == null || !ctx.channel().isOpen()) {
      ReferenceCountUtil.release(bytes);
      return;
    }
    InetAddress address = client.get() instanceof InetSocketAddress internet ? internet.getAddress() : null;
    if (!handshakes.begin(address)) {
      ReferenceCountUtil.release(bytes);
      refusal.run();
      ctx.close(); // in front of the SslHandler, so no alert is sent
      return;
    }
    var _ = handshake.handshakeFuture().addListener(_ -> handshakes.ended(address));
    ctx.fireChannelRead(bytes);
    ctx.pipeline().remove(this);
  }
}
