package dunlin.load.client;

import dunlin.load.count.Meters;
import dunlin.load.count.SplitBook;
import dunlin.load.count.WallClock;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Share;
import dunlin.load.plan.Step;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** All clients of a run in this process, on their event loops. */
public final class Fleet implements AutoCloseable {
  /*
   * Owner: the run's thread calls it; tasks run on the loops.
   * Bounds: Stamp.STREAMS_MAX streams, including those of the run's other processes. Failure: close() ends every
   * connection and loop in any state.
   */
  private static final long LEAD_NANOS = 5_000_000;
  private static final int CLOSE_SECONDS_MAX = 10;
  private static final int WARM_UP_BYTES = 512;

  private final Plan plan;
  private final Audience audience;
  private final Meters meters;
  private final RunContext context;
  private final MultiThreadIoEventLoopGroup group;
  private final List<Loop> loops = new ArrayList<>();

  private boolean ended;

  /**
   * Creates the clients without connecting them.
   *
   * @param share the share of the plan's clients
   * @param clock the clock for writing and reading stamps
   * @param run distinguishes messages of this run from those of others
   * @param allRuns whether messages of other runs count too
   */
  public Fleet(Plan plan, Audience audience, Share share, WallClock clock, int run, boolean allRuns) {
    this.plan = plan;
    this.audience = audience;
    int count = plan.loops() > 0 ? plan.loops() : Runtime.getRuntime().availableProcessors();
    meters = new Meters(count);
    context = new RunContext(plan, share, run & 0xFFFF, allRuns, meters, clock);
    boolean epoll = Epoll.isAvailable();
    IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    Class<? extends Channel> type = epoll ? EpollSocketChannel.class : NioSocketChannel.class;
    var dialer = new Dialer(plan, type);
    group = new MultiThreadIoEventLoopGroup(count, io);
    for (int i = 0; i < count; i++) loops.add(new Loop(group.next(), context, meters.loop(i), dialer, plan.pools().size()));
    for (int p = 0; p < plan.pools().size(); p++) {
      Pool pool = plan.pools().get(p);
      for (int place = 0; place < share.size(pool.clients()); place++) {
        Loop loop = loops.get(place % count);
        int client = share.client(place);
        loop.add(p, new LoadClient(pool, client, loop, context.numbers().first(p, client)));
      }
    }
    try {
      for (int id = 0; id < context.numbers().count(); id++) {
        Stream made = context.stream(id);
        if (made != null) made.fanOut = fanOut(made);
      }
    } catch (IllegalArgumentException refused) {
      for (Loop loop : loops) loop.end(); // no loop has started
      group.shutdownGracefully(0, CLOSE_SECONDS_MAX, TimeUnit.SECONDS);
      throw refused;
    }
    warmUp(type);
    for (Loop loop : loops) loop.executor().execute(loop::start);
  }

  private int fanOut(Stream stream) {
    boolean waitsForDeliveries = stream.publishing().rate() == null && stream.qos() == 0;
    int[] count = {0};
    audience.of(stream.topic(), number -> {
      count[0]++;
      boolean here = context.share().isAll() || (audience.receiver(number) instanceof Audience.Receiver.Alone(_, int client, _) && context.share().has(client));
      if (waitsForDeliveries && !here) {
        throw new IllegalArgumentException("a closed loop of QoS 0 to \"%s\" has receivers in another worker: give it a rate, or QoS 1".formatted(stream.topic()));
      }
    });
    return count[0];
  }

  /**
   * Opens one connection of each loop to this process itself. Netty's first class loading and allocation take half a
   * second, which must not count as the broker's time.
   */
  private void warmUp(Class<? extends Channel> type) {
    try (var server = new ServerSocket(0, loops.size(), InetAddress.getLoopbackAddress())) {
      for (Loop loop : loops) {
        var bootstrap = new Bootstrap().group(loop.executor()).channel(type).handler(new ChannelInboundHandlerAdapter());
        Channel channel = bootstrap.connect(server.getLocalSocketAddress()).awaitUninterruptibly().channel();
        channel.writeAndFlush(channel.alloc().directBuffer(WARM_UP_BYTES).writeZero(WARM_UP_BYTES)).awaitUninterruptibly();
        channel.close().awaitUninterruptibly();
      }
    } catch (IOException _) {
      // Without the warm-up the first connects are slow, which is harmless.
    }
  }

  public Meters meters() {
    return meters;
  }

  /** The earliest start time for a step. */
  public static long soonNanos() {
    return System.nanoTime() + LEAD_NANOS;
  }

  /**
   * Starts a step, which runs until {@link #isBusy} returns false.
   *
   * @param start by System.nanoTime()
   */
  public void begin(int number, Step step, long start) {
    context.step(number);
    switch (step) {
      case Step.Connect(_, List<String> pools, Rate rate) -> {
        for (String name : pools) {
          Pool pool = plan.pool(name);
          Rate chosen = rate == null ? pool.connectRate() : rate;
          Pace pace = chosen == null ? null : new Pace(new Rate(chosen.perSecond() / pool.clients()), pool.clients(), null, Duration.ZERO);
          onEach(loop -> loop.begin(new ConnectTask(loop.clients(plan.poolIndex(name)), pace, start)));
        }
      }
      case Step.Traffic(_, List<Step.Flow> flows, List<Step.Churn> churns, Duration lasting) -> {
        for (Step.Flow flow : flows) begin(number, flow, start, lasting);
        for (Step.Churn churn : churns) begin(churn, start, lasting);
      }
      case Step.Disconnect(_, List<String> pools, boolean abrupt) -> {
        for (String name : pools) onEach(loop -> loop.begin(new DisconnectTask(loop.clients(plan.poolIndex(name)), abrupt)));
      }
      case Step.Drain _ -> {} // only waits
    }
  }

  private void begin(int number, Step.Flow flow, long start, Duration lasting) {
    int pool = plan.poolIndex(flow.pool());
    int clients = plan.pools().get(pool).clients();
    List<Publishing> publishings = plan.pools().get(pool).publishings();
    for (int p = 0; p < publishings.size(); p++) {
      int index = p;
      Rate rate = flow.rate() == null ? publishings.get(p).rate() : flow.rate();
      Pace pace = rate == null ? null : new Pace(rate, clients, flow.rateAtEnd(), lasting);
      long messages = share(flow.messages(), index, publishings.size());
      if (flow.messages() > 0 && messages == 0) continue;
      onEach(loop -> loop.begin(flow(loop, number, pool, index, pace, clients, messages, start, lasting)));
    }
  }

  private static long share(long messages, int index, int of) {
    return messages / of + (index < messages % of ? 1 : 0);
  }

  private static Flow flow(Loop loop, int step, int pool, int index, @Nullable Pace pace, int clients, long messages, long start, Duration lasting) {
    var streams = new ArrayList<Stream>();
    for (LoadClient client : loop.clients(pool)) {
      Stream stream = client.streams().get(index);
      stream.mark(step);
      streams.add(stream);
    }
    if (pace != null) return new OpenFlow(loop, streams, pace, clients, messages, start, lasting.toNanos());
    return new ClosedFlow(loop, streams, clients, messages, start + lasting.toNanos());
  }

  private void begin(Step.Churn churn, long start, Duration lasting) {
    int pool = plan.poolIndex(churn.pool());
    int clients = plan.pools().get(pool).clients();
    var pace = new Pace(new Rate(churn.rate().perSecond() / clients), clients, null, Duration.ZERO);
    onEach(loop -> loop.begin(new ChurnTask(loop.clients(pool), pace, clients, start, lasting.toNanos())));
  }

  /** Whether the current step is still running. */
  public boolean isBusy() {
    return loops.stream().anyMatch(Loop::isBusy);
  }

  /** Stops the current step. */
  public void stopTasks() {
    await(Loop::stopTasks);
  }

  private void onEach(Consumer<Loop> what) {
    for (Loop loop : loops) {
      loop.markBusy();
      loop.executor().execute(() -> what.accept(loop));
    }
  }

  /** Runs an action on each loop and waits for all of them. */
  private void await(Consumer<Loop> what) {
    var done = new CountDownLatch(loops.size());
    for (Loop loop : loops) {
      loop.executor().execute(() -> {
        try {
          what.accept(loop);
        } finally {
          done.countDown();
        }
      });
    }
    boolean interrupted = false;
    while (true) {
      try {
        if (!done.await(CLOSE_SECONDS_MAX, TimeUnit.SECONDS)) throw new IllegalStateException("an event loop does not answer");
        break;
      } catch (InterruptedException again) {
        interrupted = true;
      }
    }
    if (interrupted) Thread.currentThread().interrupt();
  }

  /** Ends all connections. No step can start afterwards. */
  public void end() {
    if (ended) throw new IllegalStateException("has ended");
    ended = true;
    await(Loop::stop);
    // On each loop, publishing and receiving stop at one moment, before any of its connections ends.
    await(loop -> {
      for (LoadClient client : loop.clients()) client.exemptUnacknowledged();
      for (LoadClient client : loop.clients()) client.disconnect(false);
    });
    await(Loop::end);
  }

  /** Hands over what each stream here has sent, after the end of the run. */
  public void sent(Consumer<Sent> each) {
    for (int id = 0; id < context.numbers().count(); id++) {
      Stream stream = context.stream(id);
      if (stream != null && stream.sent() > 0) each.accept(stream.sum());
    }
  }

  /** The messages that arrived here for shared groups with members in several processes, by filter. */
  public Map<String, SplitBook> splitGroups() {
    var split = new TreeMap<String, SplitBook>();
    context.groups().forEach((filter, book) -> {
      if (book instanceof SplitBook part) split.put(filter, part);
    });
    return split;
  }

  /** The number of this run's stream that has a key in the books, or -1. */
  public int streamNumber(long key) {
    return context.number(key);
  }

  /**
   * Counts the messages lost by the receivers here, after the end of the run.
   *
   * @param elsewhere what other processes have sent, by stream number; null for none, or when it is unknown
   */
  public Tally tally(IntFunction<@Nullable Sent> elsewhere) {
    var closed = new long[3];
    for (Loop loop : loops) {
      long[] lost = loop.lost();
      for (int qos = 0; qos <= 2; qos++) closed[qos] += lost[qos];
    }
    IntFunction<@Nullable Sent> sent = id -> {
      Stream here = context.stream(id);
      return here == null ? elsewhere.apply(id) : here.sum();
    };
    return Tally.of(context, audience, sent, this::client, loops.stream().flatMap(loop -> loop.clients().stream()).toList(), closed);
  }

  private LoadClient client(int pool, int number) {
    int place = context.share().place(number);
    return loops.get(place % loops.size()).clients(pool).get(place / loops.size());
  }

  @Override
  public void close() {
    if (!ended) {
      ended = true;
      await(loop -> {
        loop.stop();
        for (LoadClient client : loop.clients()) client.disconnect(true);
        loop.end();
      });
    }
    group.shutdownGracefully(0, CLOSE_SECONDS_MAX, TimeUnit.SECONDS).awaitUninterruptibly();
  }
}
