package dunlin.retain;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.Set;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.runtime.memory.HeapGuard;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.raft.RangeStore;
import dunlin.store.serve.EpochRange;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The retain tier of a process that runs alone, and so has all ranges of retained messages. A subscriber finds a message at least as new
 * as any acknowledged before its request, and never an older one than it has found before.
 */
public final class RetainServer implements RetainClient, AutoCloseable {
  /*
   * A topic is in one range. A page is from one range, the one that may hold the filter's next matching topic
   * (FilterSeek): a filter only visits ranges that may have a match. The cursor is a key, and so identifies the range
   * as well. Outside of tests there is one range.
   *
   * Owner: none; called by any thread. The scheduler's thread only starts the sweep.
   * Bounds: see RetainRangeServer. RetainBounds are for all ranges of the node together (SharedBounds), and so is the
   * rate of the sweep: one range has its turn at each interval.
   * Failure: an error of a range only affects its own topics.
   */
  private final TopicRanges ranges;

  /** The servers, in the order of their ranges. */
  private final List<RetainRangeServer> servers;

  private final SharedBounds shared;
  private final TenantRoom tenants = new TenantRoom();
  private final RetainSettings settings;
  private final ScheduledExecutorService scheduler;
  private final RetainMeters meters;

  private int turn; // used by the scheduler's thread only: the next range to sweep
  private @Nullable ScheduledFuture<?> ticks; // start() and close() are called by the same thread

  /** Creates a range. */
  @FunctionalInterface
  interface RangeOpener {
    Range<RetainCommand, RetainResult> range(
        String name, CommandCodec<RetainCommand> codec, RangeLogic<RetainCommand, RetainResult> logic);
  }

  /**
   * Declares the range in a store before its start.
   *
   * @param scheduler starts the removal of expired messages; the caller closes it
   */
  public static RetainServer on(
      RangeStore store,
      RetainSettings settings,
      MeterRegistry registry,
      InstantSource clock,
      ScheduledExecutorService scheduler) {
    return new RetainServer(store::range, List.of(), settings, registry, clock, scheduler);
  }

  /**
   * Creates a server and its ranges.
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
    this.settings = settings;
    this.scheduler = scheduler;
    this.meters = new RetainMeters(registry);
    this.ranges = new TopicRanges(cuts);
    var made = new ArrayList<RetainRangeServer>();
    for (var replica : declare(store, ranges)) {
      made.add(new RetainRangeServer(replica, tenants, tenant -> elsewhere(replica.messages(), tenant), clock, meters));
    }
    this.servers = List.copyOf(made);
    this.shared = new SharedBounds(settings.bounds(), servers.stream().map(RetainRangeServer::applied).toList());
    meters.show(servers, settings.bounds());
  }

  @SuppressWarnings("ReferenceEquality") // a range is one object
  private Held elsewhere(RetainRange range, String tenant) {
    return servers.stream().map(RetainRangeServer::applied).filter(each -> each != range).map(each -> each.tenants().of(tenant)).reduce(Held.NONE, Held::plus);
  }

  /** Refuses new topics while this heap is full. */
  public void guard(HeapGuard heap) {
    shared.guard(heap);
  }

  /** Sets how many topics with a message a tenant may have, and how many bytes these may have. */
  public void limitTenants(TenantQuota messagesMax, TenantQuota bytesMax) {
    tenants.limit(messagesMax, bytesMax);
  }

  private static List<RetainReplica> declare(RangeOpener store, TopicRanges ranges) {
    var made = new ArrayList<RetainReplica>(ranges.count());
    for (int i = 0; i < ranges.count(); i++) {
      var messages = new RetainRange();
      var range = store.range(i == 0 ? RetainReplica.KIND : RetainReplica.KIND + "-" + i, new RetainCodec(), messages);
      made.add(RetainReplica.alone(range, messages, ranges.end(i)));
    }
    return made;
  }

  /** Starts to remove expired messages; called after the store has started. */
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
      servers.getFirst().change(new Set(shared.whole(), message), answer);
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
  public void add(Publication message, Consumer<Optional<ReasonCode>> answer) {
    assert message.retain() && message.payloadLength() > 0 : "not to be retained [MQTT-3.3.1-8], or removes a message: " + message;
    if (!TopicKeys.hasKey(message)) {
      meters.refusedInvalid.increment();
      answer.accept(Optional.of(ReasonCode.TOPIC_NAME_INVALID));
      return;
    }
    if (servers.size() == 1) {
      servers.getFirst().add(message, shared.whole(), answer);
      return;
    }
    byte[] key = TopicKeys.of(message);
    int range = ranges.of(key, key.length);
    var claim = shared.claim(range, key.length, message.encodedLength());
    servers
        .get(range)
        .add(
            message,
            claim.bounds(),
            reason -> {
              shared.release(claim);
              answer.accept(reason);
            });
  }

  @Override
  public CompletableFuture<Long> count() {
    return CompletableFuture.completedFuture(sums().messages());
  }

  @Override
  public CompletableFuture<Page> find(
      String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
    FilterSeek seek = TopicKeys.seek(tenant, filter, after);
    return servers.get(ranges.of(seek.target(), seek.targetLength())).find(EpochRange.ALONE, seek, messagesMax, bytesMax);
  }

  private CompletableFuture<Listing> list(byte[] prefix, byte[] from, int max) {
    return servers.get(ranges.of(from, from.length)).list(EpochRange.ALONE, prefix, from, max);
  }

  private Sums sums() {
    return servers.stream().map(server -> server.applied().sums()).reduce(Sums.NONE, Sums::plus);
  }

  /** The operations on retained messages for operators. */
  public RetainedMessagesMXBean operations() {
    return RetainOperations.over(this, this::list, this::sums, settings.bounds(), () -> !servers.getFirst().hasDiskRoom());
  }

  /** Sweeps the next range for expired messages; scheduled by {@link #start}. */
  void tick() {
    servers.get(turn).sweepSoon(settings.sweepMessages());
    turn = (turn + 1) % servers.size();
  }

  /** Stops removing expired messages. The owner closes the store, whose ranges run until then. */
  @Override
  public void close() {
    servers.forEach(RetainRangeServer::close);
    if (ticks != null) ticks.cancel(false);
    meters.close();
  }
}
