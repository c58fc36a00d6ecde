package dunlin.broker.listen;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestEncoder;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection to {@link AdminFront}: its requests go to the HTTP server, written anew once their heads are whole, and its answers come back as they are. */
final class FrontedConnection extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the event loop of both channels.
   * Bounds: what waits for the connection to the server is what was decoded of one read. See AdminFront for the others.
   * Failure: when one channel ends, so does the other, after what was read of it is written.
   */
  private static final int CONNECT_MILLIS = 2_000;
  private static final int REFUSED_MILLIS = 1_000;

  private final AdminFront front;
  private final ArrayDeque<HttpObject> waiting = new ArrayDeque<>();

  private @Nullable Future<?> patience; // closes the connection; until the first head, or after a refusal
  private boolean begun;
  private boolean refused;
  private @Nullable Channel server;

  FrontedConnection(AdminFront front) {
    this.front = front;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (!(event instanceof SslHandshakeCompletionEvent handshake)) return;
    if (handshake.isSuccess()) {
      patience = ctx.executor().schedule(() -> ctx.close(), AdminFront.HEAD_SECONDS, TimeUnit.SECONDS);
    } else {
      if (!(handshake.cause() instanceof ClosedChannelException)) front.handshakeFailed(); // a client that has disconnected has not failed
      ctx.close();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (refused || !(message instanceof HttpObject object)) {
      ReferenceCountUtil.release(message);
    } else if (object.decoderResult().isFailure()) {
      ReferenceCountUtil.release(message);
      refuse(ctx, "400 Bad Request");
    } else {
      pass(ctx, object);
    }
  }

  private void pass(ChannelHandlerContext ctx, HttpObject object) {
    if (!begun && object instanceof HttpRequest) {
      begun = true;
      if (patience != null) patience.cancel(false);
      if (!front.hasRoom()) {
        front.wasFull();
        refuse(ctx, "503 Service Unavailable");
        return;
      }
      connect(ctx);
    }
    if (server == null) waiting.add(object);
    else server.write(object, server.voidPromise());
  }

  private void connect(ChannelHandlerContext ctx) {
    Channel client = ctx.channel();
    client.config().setAutoRead(false);
    new Bootstrap()
        .group(client.eventLoop())
        .channel(NioSocketChannel.class)
        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
        .handler(
            new ChannelInitializer<>() {
              @Override
              protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new HttpRequestEncoder(), new Answers(client));
              }
            })
        .connect(front.served())
        .addListener((ChannelFutureListener) done -> connected(client, done.channel(), done.isSuccess()));
  }

  private void connected(Channel client, Channel to, boolean success) {
    if (!success || !client.isActive()) {
      to.close();
      client.close();
      return;
    }
    int port = ((InetSocketAddress) to.localAddress()).getPort();
    front.begins(port, ((InetSocketAddress) client.remoteAddress()).getAddress());
    to.closeFuture().addListener(_ -> front.ends(port));
    server = to;
    for (HttpObject object; (object = waiting.poll()) != null; ) to.write(object, to.voidPromise());
    to.flush();
    client.config().setAutoRead(to.isWritable());
  }

  private void refuse(ChannelHandlerContext ctx, String status) {
    refused = true;
    if (patience != null) patience.cancel(false);
    String answer = "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    ctx.writeAndFlush(Unpooled.copiedBuffer(answer, StandardCharsets.US_ASCII));
    // What still comes is read and left out until then: closed with unread bytes, a connection is reset, and its client may not see the answer.
    patience = ctx.executor().schedule(() -> ctx.close(), REFUSED_MILLIS, TimeUnit.MILLISECONDS);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (server != null) server.flush();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (server != null) server.config().setAutoRead(ctx.channel().isWritable());
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (patience != null) patience.cancel(false);
    waiting.forEach(ReferenceCountUtil::release);
    waiting.clear();
    if (server != null) server.close();
  }

  @Override
  @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }

  /** The server's side: its bytes go to the client. */
  private static final class Answers extends ChannelInboundHandlerAdapter {
    private final Channel client;

    Answers(Channel client) {
      this.client = client;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object bytes) {
      client.write(bytes, client.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
      client.flush();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
      client.config().setAutoRead(ctx.channel().isWritable());
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      client.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
    }

    @Override
    @SuppressWarnings("deprecation") // the method of ChannelHandler is deprecated, that of this class is not
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }
  }
}
