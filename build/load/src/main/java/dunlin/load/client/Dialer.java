package dunlin.load.client;

import dunlin.load.mqtt.PacketReader;
import dunlin.load.plan.Access;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Tls;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshakerFactory;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketVersion;
import io.netty.handler.ssl.SslHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Opens clients' connections over TCP, TLS or WebSocket, from the source addresses in turn. */
final class Dialer {
  /* Owner: created by one thread, read-only afterwards. */
  private static final int HANDSHAKE_BYTES_MAX = 65_536;

  private final Class<? extends Channel> channelType;
  private final TlsContexts tlsContexts;
  private final Map<Endpoint, InetAddress> addresses = new HashMap<>();
  private final int timeoutMillis;

  Dialer(Plan plan, Class<? extends Channel> channelType) {
    this.channelType = channelType;
    tlsContexts = new TlsContexts(plan);
    timeoutMillis = (int) Math.min(Integer.MAX_VALUE, plan.connectTimeout().toMillis());
    for (Pool pool : plan.pools()) {
      for (Endpoint endpoint : pool.access().endpoints()) addresses.computeIfAbsent(endpoint, Dialer::resolve);
    }
  }

  private static InetAddress resolve(Endpoint endpoint) {
    try {
      return InetAddress.getByName(endpoint.host());
    } catch (UnknownHostException failure) {
      throw new IllegalArgumentException("the host %s is not known".formatted(endpoint.host()), failure);
    }
  }

  /** Starts to connect; the client is notified of the outcome. */
  void dial(LoadClient client) {
    Pool pool = client.pool();
    Access access = pool.access();
    Endpoint endpoint = pool.endpoint(client.number());
    InetAddress address = addresses.get(endpoint);
    assert address != null : endpoint;
    var remote = new InetSocketAddress(address, endpoint.port());
    Tls tls = pool.tls(client.number());
    Connection.Below below = access.webSocketPath() != null ? Connection.Below.WEB_SOCKET : tls != null ? Connection.Below.TLS : Connection.Below.TCP;
    boolean headerBelow = access.proxyHeader() && below != Connection.Below.TCP;
    var connection = new Connection(client, client.loop(), pool.version(client.number()), below, access.proxyHeader());
    ChannelHandler handler = below == Connection.Below.TCP ? connection : layers(endpoint, tls, access.webSocketPath(), headerBelow, connection);
    var bootstrap =
        new Bootstrap()
            .group(client.loop().executor())
            .channel(channelType)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, timeoutMillis)
            .handler(handler);
    List<String> sources = access.sources();
    // Lets the kernel choose the port at connect, so that each endpoint can use every port.
    if (!sources.isEmpty() && channelType == EpollSocketChannel.class) bootstrap.option(EpollChannelOption.IP_BIND_ADDRESS_NO_PORT, true);
    ChannelFuture dialling =
        sources.isEmpty()
            ? bootstrap.connect(remote)
            : bootstrap.connect(remote, new InetSocketAddress(sources.get(client.loop().context().share().place(client.number()) % sources.size()), 0));
    if (dialling.isDone() && !dialling.isSuccess()) {
      // Deferred, because the caller has not finished its own step.
      client.loop().executor().execute(() -> client.dialFailed(cause(dialling)));
    } else {
      dialling.addListener(
          done -> {
            if (!done.isSuccess()) client.dialFailed(cause(dialling));
          });
    }
  }

  private static Throwable cause(ChannelFuture failed) {
    Throwable cause = failed.cause();
    return cause == null ? new IllegalStateException("not connected") : cause;
  }

  private ChannelInitializer<Channel> layers(Endpoint endpoint, @Nullable Tls tls, @Nullable String webSocketPath, boolean headerBelow, Connection connection) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        ChannelPipeline pipeline = channel.pipeline();
        if (headerBelow) pipeline.addLast(new HeaderFirst());
        if (tls != null) {
          SslHandler handler = tlsContexts.of(tls).newHandler(channel.alloc(), endpoint.host(), endpoint.port());
          handler.setHandshakeTimeoutMillis(timeoutMillis);
          pipeline.addLast(handler);
        }
        if (webSocketPath != null) {
          pipeline.addLast(new HttpClientCodec(), new HttpObjectAggregator(HANDSHAKE_BYTES_MAX), webSocket(endpoint, tls != null, webSocketPath));
          pipeline.addLast(new Frames(), new Unframed());
        }
        pipeline.addLast(connection);
      }
    };
  }

  private WebSocketClientProtocolHandler webSocket(Endpoint endpoint, boolean secure, String path) {
    URI uri = URI.create((secure ? "wss://" : "ws://") + endpoint + path);
    var handshaker =
        WebSocketClientHandshakerFactory.newHandshaker(uri, WebSocketVersion.V13, "mqtt", false, new DefaultHttpHeaders(), PacketReader.PACKET_BYTES_MAX);
    return new WebSocketClientProtocolHandler(handshaker, true, true, timeoutMillis);
  }

  /** Sends the header of the PROXY protocol before a handshake begins. */
  private static final class HeaderFirst extends ChannelInboundHandlerAdapter {
    @Override
    public void channelActive(ChannelHandlerContext context) {
      ByteBuf header = context.alloc().buffer(108);
      ProxyHeader.write(context.channel(), header);
      context.writeAndFlush(header);
      context.fireChannelActive();
    }
  }

  /** Puts bytes into binary frames; section 6 of the MQTT specifications. */
  private static final class Frames extends ChannelOutboundHandlerAdapter {
    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
      context.write(message instanceof ByteBuf bytes ? new BinaryWebSocketFrame(bytes) : message, promise);
    }
  }

  /** Takes the bytes out of binary frames. */
  private static final class Unframed extends SimpleChannelInboundHandler<WebSocketFrame> {
    @Override
    protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
      context.fireChannelRead(frame.content().retain());
    }
  }
}
