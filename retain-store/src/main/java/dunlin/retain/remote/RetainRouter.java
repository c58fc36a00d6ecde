package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainBounds;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainOperations;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.retain.RetainTier;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.retain.TopicKeys;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.ways.RangeAnswers;
import dunlin.store.ways.RangeRouter;
import dunlin.store.ways.TenantAnswers;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The retain tier of a cluster: passes each call to the leader of the range that has its key, also while ranges are split. */
public final class RetainRouter implements RetainClient, AutoCloseable {
  /*
   * RangeRouter finds the range of each call. So the changes of a topic keep the order in which a thread has made them, and what a thread has set before it asks for a
   * page is in that page.
   *
   * Owner: any thread calls; RangeRouter's lock is taken when ranges change or a call has to wait.
   * Bounds: a message that is set holds credit of its publisher's lane until it is answered, waiting or not. Pages: PageRoom, and before the first map the bounds of
   *   links.
   * Failure: that of RangeRouter. With a lost link, set() answers SERVER_UNAVAILABLE for what was on its way, which may be kept or not; all others fail with a
   *   StoreException. A node that may have no clients any more sets nothing that has waited here, and renews its links before it has clients again: what its clients have published
   *   must not be set behind what they have published elsewhere since.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RetainRouter.class);

  private final RangeRouter<RetainLink> router;
  private final int messageMax;
  private final PageRoom room;
  private final Counter invalid;

  /** What ranges had when they were asked last. */
  private final RangeAnswers<RetainLink, Sums> sums = new RangeAnswers<>(link -> link.calls().sums());

  /** What tenants with a limit had there. */
  private final TenantAnswers<RetainLink, Held> held = new TenantAnswers<>((link, tenants) -> link.calls().held(tenants));

  /**
   * Knows no range, until {@link #ranges}.
   *
   * @param node as the leaders of ranges are to know this caller; no two callers have one name
   * @param incarnation which life of it, larger than those before
   * @param networks leads to the leader of a range
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param bounds of each range's calls; those of pages are for all ranges together
   * @param messageMax bytes of the largest message there can be, from 1
   * @param maySet whether this node may set messages, asked for each just before it is sent; any thread
   * @param timer gives up calls that have waited for too long; the caller closes it
   */
  public RetainRouter(
      String node, long incarnation, Function<UUID, CallLinks.Network> networks, Executor owner, CallBounds bounds, int messageMax, BooleanSupplier maySet,
      ScheduledExecutorService timer, MeterRegistry registry) {
    this(
        range -> new RemoteRetain(node, incarnation, networks.apply(range), owner, bounds, messageMax, maySet), timer, bounds.answersMax(), messageMax, RangeRouter.PATIENCE,
        registry);
  }

  /**
   * With other ways to ranges.
   *
   * @param opener makes the way to a range, without a link
   */
  RetainRouter(
      Function<UUID, RemoteRetain> opener, ScheduledExecutorService timer, long pageBytesMax, int messageMax, Duration patience, MeterRegistry registry) {
    this.messageMax = messageMax;
    room = new PageRoom(pageBytesMax, timer);
    router = new RangeRouter<>(range -> new RetainLink(opener.apply(range), room.line()), this::forget, "topic", timer, patience);
    invalid =
        Counter.builder("dunlin.retain.refused")
            .description("Retained messages, or pages of them, that were refused, by reason")
            .tag("reason", "invalid")
            .register(registry);
    gauge(registry, "dunlin.retain.calls", null, each -> each.sum(CallLinks::calls), "Calls to the leaders of retained messages that are not answered");
    gauge(
        registry, "dunlin.retain.calls.size", "bytes", each -> each.sum(CallLinks::bytes),
        "Bytes of the calls to the leaders of retained messages that are not answered");
    gauge(
        registry, "dunlin.retain.calls.held", null, each -> each.router.held(),
        "Calls about retained messages that wait until the map of the cluster shows how a range was split");
    counter(registry, "dunlin.retain.calls.refused", CallLinks::refused, "Calls to the leaders of retained messages that failed since too many were not answered");
    counter(registry, "dunlin.retain.links.lost", CallLinks::lost, "Links to the leaders of retained messages that were lost");
  }

  private void forget(UUID range) {
    sums.forget(range);
    held.forget(range);
  }

  private void gauge(MeterRegistry registry, String name, @Nullable String unit, ToDoubleFunction<RetainRouter> value, String help) {
    Gauge.builder(name, this, value).description(help).baseUnit(unit).register(registry);
  }

  private void counter(MeterRegistry registry, String name, ToLongFunction<CallLinks> value, String help) {
    FunctionCounter.builder(name, this, each -> each.sum(value)).description(help).register(registry);
  }

  private long sum(ToLongFunction<CallLinks> of) {
    return router.links().stream().map(each -> each.calls().links()).mapToLong(of).sum();
  }

  /** Begins the links. Completes when the leaders of all ranges of the first map with ranges have taken theirs. Any thread, once. */
  public CompletableFuture<Void> begin() {
    return router.begin();
  }

  /** Gives all links up, as {@link CallLinks#renew} does. Completes when the leaders of all ranges have taken the next ones. Any thread. */
  public CompletableFuture<Void> renew(String reason) {
    return CompletableFuture.allOf(router.links().stream().map(each -> each.calls().links().renew(reason)).toArray(CompletableFuture<?>[]::new));
  }

  /** Whether the leaders of all ranges have taken the present links. Any thread. */
  public boolean isReached() {
    return router.isReached();
  }

  /** Takes the ranges of a newer map, whose keys are disjoint. Any thread, in the order of the maps; never waits. */
  public void ranges(List<RangeDescriptor> ranges) {
    router.ranges(ranges);
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    if (!TopicKeys.hasKey(message)) {
      invalid.increment();
      answer.accept(ReasonCode.TOPIC_NAME_INVALID);
      return;
    }
    var _ =
        router.call(TopicKeys.of(message), (range, epoch) -> range.calls().set(epoch, message))
            .whenComplete((reason, failure) -> answer.accept(failure == null ? reason : unavailable(failure)));
  }

  @Override
  public void add(Publication message, Consumer<Optional<ReasonCode>> answer) {
    assert message.retain() && message.payloadLength() > 0 : "not to be retained [MQTT-3.3.1-8], or removes a message: " + message;
    if (!TopicKeys.hasKey(message)) {
      invalid.increment();
      answer.accept(Optional.of(ReasonCode.TOPIC_NAME_INVALID));
      return;
    }
    var _ =
        router.call(TopicKeys.of(message), (range, epoch) -> range.calls().add(epoch, message))
            .whenComplete((reason, failure) -> answer.accept(failure == null ? reason : Optional.of(unavailable(failure))));
  }

  private static ReasonCode unavailable(Throwable failure) {
    LOG.debug("It is not known whether a message to be retained was stored: {}", failure.getMessage());
    return ReasonCode.SERVER_UNAVAILABLE;
  }

  @Override
  public CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
    byte[] key = TopicKeys.first(tenant, filter, after);
    Supplier<CompletableFuture<Page>> page =
        () -> router.call(key, (range, epoch) -> range.calls().find(epoch, tenant, filter, after, messagesMax, bytesMax));
    return router.known(key).map(range -> range.link().pages().ask((long) bytesMax + messageMax, page)).orElseGet(page);
  }

  /**
   * The operations on all ranges for operators.
   *
   * @param bounds of what all ranges may have
   * @param diskLow whether the disk of this node is nearly full for what it leads
   */
  public RetainedMessagesMXBean operations(RetainBounds bounds, BooleanSupplier diskLow) {
    return RetainOperations.over(this, this::list, this::present, bounds, diskLow);
  }

  /** Lists keys that begin with a prefix, as far as one range has them. */
  CompletableFuture<Listing> list(byte[] prefix, byte[] from, int max) {
    return router.call(from, (range, epoch) -> range.calls().list(epoch, prefix, from, max));
  }

  /** Without the topics of a range that was split off and is not in the map yet. */
  @Override
  public CompletableFuture<Long> count() {
    var asking = router.known().stream().map(range -> range.link().calls().sums()).toList();
    if (asking.isEmpty()) return CompletableFuture.failedFuture(new StoreException("no range of the cluster is known yet"));
    return CompletableFuture.allOf(asking.toArray(CompletableFuture<?>[]::new)).thenApply(_ -> asking.stream().mapToLong(each -> each.join().messages()).sum());
  }

  /** Asks all ranges what they have now, unless that was done a moment ago. Any thread; the answers come later. */
  public void ask() {
    sums.ask(router);
    held.ask(router);
  }

  /** What all ranges but this one had when they were asked last; a range that has never answered counts for nothing. Any thread. */
  public RetainTier.Elsewhere elsewhere(UUID range) {
    return new RetainTier.Elsewhere() {
      @Override
      public Sums sums() {
        return sums.elsewhere(range).reduce(Sums.NONE, Sums::plus);
      }

      @Override
      public Held of(String tenant) {
        return held.elsewhere(range, tenant).reduce(Held.NONE, Held::plus);
      }
    };
  }

  /** What all ranges had when they were asked last. Any thread. */
  Sums present() {
    return sums.all().reduce(Sums.NONE, Sums::plus);
  }

  /** Ends the links; what is not answered fails. */
  @Override
  public void close() {
    router.close();
  }
}
