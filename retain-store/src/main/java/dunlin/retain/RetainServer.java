package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.Set;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.raft.RangeStore;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The retain tier of a process that leads all ranges of retained messages. A subscriber finds a message at least as new as any that was answered
 * with success before it asked, and never an older one than it found before.
 */
public final class RetainServer implements RetainClient, AutoCloseable {
  /*
   * A topic stands in one range. A page is of one range, the one in which the next topic may stand that the filter matches (FilterSeek): a filter
   * visits only those that may have some. The cursor is a key, and so names the range as well. A node that is alone has one range.
   *
   * Owner: none; called by any thread. The scheduler's thread only starts the sweep.
   * Bounds: RetainRangeServer says its own. RetainBounds are the node's, for all ranges together (SharedBounds), and so is the pace of the sweep:
   *   one range has its turn at each interval.
   * Failure: what a range refuses or fails, fails for its topics alone.
   */
  private final TopicRanges ranges;

  /** In the order of their ranges. */
  private final List<RetainRangeServer> servers;

  private final SharedBounds shared;
  private final RetainSettings settings;
  private final ScheduledExecutorService scheduler;
  private final RetainMeters meters;

  private int turn; // the scheduler's thread: which range is looked at next for expired messages
  private @Nullable ScheduledFuture<?> ticks; // start() and close() are called by the node's one thread

  /** Makes the range. */
  @FunctionalInterface
  interface RangeOpener {
    Range<RetainCommand, RetainResult> range(
        String name, CommandCodec<RetainCommand> codec, RangeLogic<RetainCommand, RetainResult> logic);
  }

  /**
   * Declares the range in a store that has not started yet.
   *
   * @param scheduler starts the removal of expired messages; stays the caller's
   */
  public static RetainServer on(
      RangeStore store,
      RetainSettings settings,
      MeterRegistry registry,
      InstantSource clock,
      ScheduledExecutorService scheduler) {
    return new RetainServer(store::range, List.of(), settings, registry, clock, scheduler);
  }

  /** Serves the only range of retained messages of a cluster, for one leadership of this node. */
  public static RetainServer leading(
      RetainReplica replica, RetainSettings settings, MeterRegistry registry, InstantSource clock, ScheduledExecutorService scheduler) {
    return new RetainServer(List.of(replica), new TopicRanges(List.of()), settings, registry, clock, scheduler);
  }

  /**
   * With the ranges that are made here.
   *
   * @param cuts as in {@link TopicRanges}
   */
  RetainServer(
      RangeOpener store,
      List<byte[]> cuts,
      RetainSettings settings,
      MeterRegistry registry,
      InstantSource clock,
      ScheduledExecutorService scheduler) {
    this(declare(store, cuts.size() + 1), new TopicRanges(cuts), settings, registry, clock, scheduler);
  }

  private RetainServer(
      List<RetainReplica> replicas,
      TopicRanges ranges,
      RetainSettings settings,
      MeterRegistry registry,
      InstantSource clock,
      ScheduledExecutorService scheduler) {
    this.settings = settings;
    this.scheduler = scheduler;
    this.meters = new RetainMeters(registry);
    this.ranges = ranges;
    var made = new ArrayList<RetainRangeServer>();
    for (int i = 0; i < ranges.count(); i++) made.add(new RetainRangeServer(replicas.get(i), ranges.end(i), clock, meters));
    this.servers = List.copyOf(made);
    this.shared = new SharedBounds(settings.bounds(), servers.stream().map(RetainRangeServer::applied).toList());
    meters.show(servers, settings.bounds());
  }

  private static List<RetainReplica> declare(RangeOpener store, int count) {
    var made = new ArrayList<RetainReplica>(count);
    for (int i = 0; i < count; i++) {
      var messages = new RetainRange();
      made.add(new RetainReplica(store.range(i == 0 ? RetainReplica.KIND : RetainReplica.KIND + "-" + i, new RetainCodec(), messages), messages));
    }
    return made;
  }

  /** Begins to remove expired messages; to be called when the store has started. */
  public void start() {
    long interval = settings.sweepInterval().toMillis();
    ticks = scheduler.scheduleWithFixedDelay(this::tick, interval, interval, TimeUnit.MILLISECONDS);
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    if (!TopicKeys.hasKey(message)) {
      meters.refusedInvalid.increment();
      answer.accept(ReasonCode.TOPIC_NAME_INVALID);
      return;
    }
    boolean clears = message.payloadLength() == 0;
    if (!clears && servers.size() == 1) {
      servers.getFirst().change(new Set(settings.bounds(), message), answer);
      return;
    }
    byte[] key = TopicKeys.of(message);
    int range = ranges.of(key, key.length);
    if (clears) {
      servers.get(range).change(new Clear(key), answer);
      return;
    }
    var claim = shared.claim(range, key.length, message.encodedLength());
    servers
        .get(range)
        .change(
            new Set(claim.bounds(), message),
            reason -> {
              shared.release(claim);
              answer.accept(reason);
            });
  }

  @Override
  public CompletableFuture<Long> count() {
    return CompletableFuture.completedFuture(servers.stream().mapToLong(server -> server.applied().index().size()).sum());
  }

  @Override
  public CompletableFuture<Page> find(
      String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
    FilterSeek seek = new FilterSeek(tenant, filter);
    if (after != null) seek.from(after.key());
    return servers.get(ranges.of(seek.target(), seek.targetLength())).find(seek, messagesMax, bytesMax);
  }

  /** What operators do with retained messages. */
  public RetainedMXBean operations() {
    return new RetainOperations(ranges, servers, this);
  }

  /** Looks for expired messages in one range more; comes by itself from {@link #start} on. */
  void tick() {
    servers.get(turn).sweepSoon(settings.sweepMessages());
    turn = (turn + 1) % servers.size();
  }

  /** Stops removing expired messages. The store, whose ranges go on until then, is closed by its owner. */
  @Override
  public void close() {
    servers.forEach(RetainRangeServer::close);
    if (ticks != null) ticks.cancel(false);
    meters.close();
  }
}
