package dunlin.broker.listen;

import dunlin.broker.limit.AddressCounts;
import dunlin.broker.listen.ListenerSettings.TlsKeys;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpRequestDecoder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The TLS port in front of the admin API's HTTP server, which itself listens on loopback. Its certificate is read again when it changes, as
 * a listener's is.
 */
public final class AdminFront implements AutoCloseable {
  /*
   * The HTTP server of the JDK would make handshakes on the threads that answer requests, and asks the DNS for the name of each client
   * before; neither has a bound. So handshakes are made here, and a request reaches that server when its head is whole.
   *
   * Owner: an event loop of its own, apart from those of MQTT, so that handshakes cost one processor at most. The two maps are read by others.
   * Bounds: CONNECTIONS_MAX connections, PER_ADDRESS_MAX of an address (an IPv6 address counts as its /64); more are closed. The server is
   * reached by SERVED_MAX of these; beyond, a request gets 503. A handshake has the time of the listeners', and the first request HEAD_SECONDS
   * after it. A head has at most LINE_MAX and HEADERS_MAX bytes. What is read of one side waits for the other: no more is read until that is
   * written. Later requests and idle connections are bounded by the server, which closes them.
   * Failure: whatever is wrong with a connection closes it, and no other.
   */
  static final int CONNECTIONS_MAX = 128;
  static final int PER_ADDRESS_MAX = 16;
  static final int SERVED_MAX = 56; // below the 64 connections that bin/dunlin lets the server have
  static final int HEAD_SECONDS = 10;
  private static final int LINE_MAX = 204_800; // a client identifier of 65,535 bytes, each as %xx
  private static final int HEADERS_MAX = 16_384;
  private static final int BACKLOG = 128;
  private static final int CLOSE_MILLIS = 2_000;

  private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, Thread.ofPlatform().name("dunlin-admin-tls").daemon().factory(), NioIoHandler.newFactory());
  private final AddressCounts addresses = new AddressCounts(PER_ADDRESS_MAX);
  private final Map<Integer, InetAddress> peers = new ConcurrentHashMap<>();
  private final ChannelGroup connections = new DefaultChannelGroup(loop.next(), true);
  private final TlsContext tls;
  private final InetSocketAddress served;
  private final Counter full;
  private final Counter failed;
  private final Channel server;

  private AdminFront(ListenerSettings settings, InetSocketAddress address, TlsContext tls, int servedPort, MeterRegistry meters) {
    this.tls = tls;
    this.served = new InetSocketAddress(InetAddress.getLoopbackAddress(), servedPort);
    this.full = refused(meters, "full");
    this.failed = refused(meters, "tls-handshake");
    Gauge.builder("dunlin.admin.tls.connections", connections, ChannelGroup::size).description("Open connections to the TLS port of the admin API").register(meters);
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(loop)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    accepted(channel);
                  }
                });
    var bound = bootstrap.bind(address).awaitUninterruptibly();
    if (!bound.isSuccess()) {
      loop.shutdownGracefully(0, CLOSE_MILLIS, TimeUnit.MILLISECONDS);
      throw new ListenerException(
          "the %s cannot listen on %s:%d (%s): %s"
              .formatted(settings.name(), address.getHostString(), address.getPort(), settings.key("tls.port"), bound.cause().getMessage()),
          bound.cause());
    }
    server = bound.channel();
  }

  private static Counter refused(MeterRegistry meters, String reason) {
    return Counter.builder("dunlin.admin.tls.refused").description("Connections to the TLS port of the admin API that were refused").tag("reason", reason).register(meters);
  }

  /**
   * Opens the port.
   *
   * @param servedPort the port of the HTTP server, on loopback
   * @throws ListenerException that names the setting of a file that cannot be used, or the address
   */
  public static AdminFront open(InetSocketAddress address, TlsKeys keys, int servedPort, MeterRegistry meters) {
    ListenerSettings settings = ListenerSettings.ofAdmin(address.getHostString(), address.getPort(), keys);
    TlsContext tls = TlsContext.load(settings, meters);
    try {
      return new AdminFront(settings, address, tls, servedPort, meters);
    } catch (ListenerException e) {
      tls.close();
      throw e;
    }
  }

  /** @throws ListenerException that names the setting of a file that cannot be used */
  public static void check(InetSocketAddress address, TlsKeys keys) {
    TlsContext.check(ListenerSettings.ofAdmin(address.getHostString(), address.getPort(), keys));
  }

  /** The port that it listens on. */
  public int port() {
    return ((InetSocketAddress) server.localAddress()).getPort();
  }

  /** The DNS names in its certificate, in lower case. */
  public Set<String> names() {
    return tls.names();
  }

  /** The address of the client whose requests come to the HTTP server from this port of loopback; empty when they do not come through here. */
  public Optional<InetAddress> clientAt(int port) {
    return Optional.ofNullable(peers.get(port));
  }

  /** Reads the files of the certificate again, and uses them if they have changed. One thread at a time calls this. */
  public void reloadCertificate() {
    tls.reload();
  }

  private void accepted(SocketChannel channel) {
    InetAddress client = channel.remoteAddress().getAddress();
    if (connections.size() >= CONNECTIONS_MAX || !addresses.add(client)) {
      full.increment();
      channel.close();
      return;
    }
    connections.add(channel);
    channel.closeFuture().addListener(_ -> addresses.remove(client));
    HttpDecoderConfig heads = new HttpDecoderConfig().setMaxInitialLineLength(LINE_MAX).setMaxHeaderSize(HEADERS_MAX);
    channel.pipeline().addLast(tls.newHandler(channel.alloc(), Runnable::run), new HttpRequestDecoder(heads), new FrontedConnection(this));
  }

  InetSocketAddress served() {
    return served;
  }

  /** Whether the HTTP server may have one more connection. Called by the event loop only. */
  boolean hasRoom() {
    return peers.size() < SERVED_MAX;
  }

  void begins(int port, InetAddress client) {
    peers.put(port, client);
  }

  void ends(int port) {
    peers.remove(port);
  }

  void handshakeFailed() {
    failed.increment();
  }

  void wasFull() {
    full.increment();
  }

  @Override
  public void close() throws IOException {
    server.close().awaitUninterruptibly(CLOSE_MILLIS);
    connections.close().awaitUninterruptibly(CLOSE_MILLIS); // an event loop that ends would leave those open that have yet to say so by TLS
    loop.shutdownGracefully(0, CLOSE_MILLIS, TimeUnit.MILLISECONDS).awaitUninterruptibly(2L * CLOSE_MILLIS);
    tls.close();
  }
}
