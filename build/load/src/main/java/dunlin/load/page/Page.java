package dunlin.load.page;

import dunlin.load.engine.Moment;
import dunlin.load.engine.Phase;
import dunlin.load.engine.Result;
import dunlin.load.plan.Plan;
import dunlin.load.report.LiveReport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Serves the page of a run to browsers; read-only and without external resources. */
public final class Page implements AutoCloseable {
  /*
   * Owner: one event loop of its own has all connections, the files and the Feed. The run's thread hands over each
   * second without waiting.
   * Bounds: CONNECTIONS_MAX connections; HEAD_BYTES_MAX and BODY_BYTES_MAX of a request; for each connection SEND_BYTES
   * in the kernel, and WAITING_BYTES_MAX plus one last write of at most a Timeline and a state; Feed. One task per
   * second from the run.
   * Failure: an excess connection is closed and counted. At the end, anything unsent after CLOSE_MILLIS_MAX is dropped.
   */
  static final int CONNECTIONS_MAX = 64;
  static final int HEAD_BYTES_MAX = 8_192;
  static final int BODY_BYTES_MAX = 1_024;
  static final int WAITING_BYTES_MAX = 128_000;
  private static final int LINE_BYTES_MAX = 1_024;
  private static final int SEND_BYTES = 128_000;
  private static final long CLOSE_MILLIS_MAX = 2_000;

  private final PageAddress address;
  private final MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory("bench-page", true), NioIoHandler.newFactory());
  private final EventExecutor loop = group.next();
  private final Set<Channel> connections = new HashSet<>(); // owned by the loop
  private final Feed feed;
  private final Channel server;

  private Page(PageAddress address, Plan plan) {
    this.address = address;
    String run = Long.toHexString(System.currentTimeMillis() ^ ProcessHandle.current().pid() << 44);
    feed = new Feed(run, LiveReport.about(run, plan), loop);
    var gate = new Gate(address.host());
    var files = new PageFiles();
    var settings = new HttpDecoderConfig().setMaxInitialLineLength(LINE_BYTES_MAX).setMaxHeaderSize(HEAD_BYTES_MAX);
    var bootstrap =
        new ServerBootstrap()
            .group(group)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.SO_SNDBUF, SEND_BYTES)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(WAITING_BYTES_MAX / 2, WAITING_BYTES_MAX))
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    if (connections.size() == CONNECTIONS_MAX) {
                      feed.connectionRefused();
                      channel.close();
                      return;
                    }
                    connections.add(channel);
                    channel.closeFuture().addListener(_ -> connections.remove(channel));
                    channel.pipeline().addLast(new HttpServerCodec(settings), new HttpObjectAggregator(BODY_BYTES_MAX, true), new PageRequests(gate, files, feed));
                  }
                });
    try {
      server = bind(bootstrap);
    } catch (IllegalArgumentException refused) {
      group.shutdownGracefully(0, CLOSE_MILLIS_MAX, TimeUnit.MILLISECONDS);
      throw refused;
    }
  }

  private Channel bind(ServerBootstrap bootstrap) {
    ChannelFuture bound = bootstrap.bind(address.resolve()).awaitUninterruptibly();
    if (bound.isSuccess()) return bound.channel();
    throw new IllegalArgumentException("the page cannot be served at %s: %s".formatted(address, bound.cause().getMessage()), bound.cause());
  }

  /** Serves the page of a run that is about to begin. */
  public static Page open(PageAddress address, Plan plan) {
    return new Page(address, plan);
  }

  public String url() {
    return address.url(((InetSocketAddress) server.localAddress()).getPort());
  }

  /** Shows one more second. */
  public void second(Phase phase, Moment moment) {
    loop.execute(() -> feed.second(moment.point(), LiveReport.state(phase, moment)));
  }

  /** Shows the result. */
  public void end(Result result) {
    String text = LiveReport.end(result); // formatted here, because only one thread at a time may read a histogram
    loop.execute(() -> feed.end(text));
  }

  /** Ends all connections. A run without a result is shown as failed. */
  @Override
  public void close() {
    if (group.isShuttingDown()) return;
    server.close();
    loop.submit(() -> {
      feed.end(LiveReport.FAILED);
      return feed.close();
    }).syncUninterruptibly().getNow().awaitUninterruptibly(CLOSE_MILLIS_MAX);
    group.shutdownGracefully(0, CLOSE_MILLIS_MAX, TimeUnit.MILLISECONDS).syncUninterruptibly();
  }
}
