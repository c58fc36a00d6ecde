package dunlin.broker;

import dunlin.broker.loop.Tiers;
import dunlin.broker.meter.LoadAverage;
import dunlin.broker.meter.PacketType;
import dunlin.broker.meter.Traffic;
import dunlin.inbox.InboxClient;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.runtime.Setting;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Statistics of this node under {@code $SYS/broker/}, with the names that mosquitto uses. Figures that have changed are
 * published at every full interval of the clock; a new subscriber gets all of them at once as retained messages.
 *
 * <p>They are messages of QoS 0: a subscriber gets them while it is connected, and none is stored in an inbox, because
 * the next one replaces it. They belong to the default tenant, and each node of a cluster publishes only its own
 * figures.
 */
public final class SysTopics implements AutoCloseable {
  /*
   * Owner: the frontend's first event loop computes the figures and publishes them. Any thread may read latest.
   * Bounds: one message of some bytes for each topic, in memory: neither the log nor the retained store ever sees one.
   * Failure: a figure that cannot be read is counted as unexpected and ends its round; the next round takes place as
   * usual. Figures of a tier that has not answered by the next round stay unchanged.
   */
  public static final Setting<Duration> INTERVAL =
      Setting.duration(
          "dunlin.sys.interval", Duration.ofSeconds(10), Duration.ZERO, Duration.ofHours(1),
          "Interval at which the node publishes its statistics under $SYS/broker/. 0 means never.");

  private static final String ROOT = "$SYS/broker/";
  private static final long SHORTEST_MILLIS = 100;
  private static final Publisher SELF = new Publisher(Publisher.DEFAULT_TENANT, ""); // no client can have this identifier

  private final Frontend frontend;
  private final InstantSource clock;
  private final long intervalMillis;
  private final long startedMillis;
  private final List<Topic> topics = new ArrayList<>();
  private final List<LoadAverage> loads = new ArrayList<>();

  private long updatedMillis;
  private long clientsMaximum;
  private long heapMaximum;

  /** The last answers of the tiers, and whether a request is in progress. */
  private InboxClient.Statistics sessions = InboxClient.Statistics.NONE;

  private long retained;
  private boolean asking;

  private volatile List<Publication> latest = List.of();
  private volatile boolean closed;

  private record Topic(String name, Supplier<String> value) {}

  /**
   * @param version the broker's version
   * @param interval zero for no such topics; shorter intervals than 100 ms count as 100 ms
   */
  public SysTopics(Frontend frontend, InstantSource clock, String version, Duration interval) {
    this.frontend = frontend;
    this.clock = clock;
    this.intervalMillis = interval.isZero() ? 0 : Math.max(SHORTEST_MILLIS, interval.toMillis());
    this.startedMillis = clock.millis();
    this.updatedMillis = startedMillis;

    text("version", () -> "dunlin version " + version);
    text("uptime", () -> (clock.millis() - startedMillis) / 1_000 + " seconds");
    clients();
    traffic();
    stores();
    number("heap/current", SysTopics::heap);
    number("heap/maximum", () -> heapMaximum = Math.max(heapMaximum, heap()));
  }

  private void clients() {
    LongSupplier total = () -> sessions.sessions();
    LongSupplier connected = () -> sessions.online();
    LongSupplier disconnected = () -> Math.max(0, total.getAsLong() - connected.getAsLong());
    number("clients/total", total);
    number("clients/maximum", () -> clientsMaximum = Math.max(clientsMaximum, total.getAsLong()));
    number("clients/connected", connected);
    number("clients/active", connected);
    number("clients/disconnected", disconnected);
    number("clients/inactive", disconnected);
    number("clients/expired", () -> sessions.sessionsExpired());
    number("connections/socket/count", frontend::connectionCount);
    load("load/sockets", frontend.meters()::connectionsOpened);
    load("load/connections", () -> frontend.meters().traffic().received(PacketType.CONNECT));
    number("subscriptions/count", () -> sessions.subscriptions() + frontend.subscriptions());
    number("shared_subscriptions/count", () -> sessions.sharedSubscriptions() + frontend.sharedSubscriptions());
  }

  private void traffic() {
    Traffic traffic = frontend.meters().traffic();
    counted("bytes/received", traffic::bytesReceived);
    counted("bytes/sent", traffic::bytesSent);
    counted("messages/received", traffic::packetsReceived);
    counted("messages/sent", traffic::packetsSent);
    LongSupplier received = () -> traffic.received(PacketType.PUBLISH);
    LongSupplier sent = () -> traffic.sent(PacketType.PUBLISH);
    LongSupplier dropped = () -> frontend.publishes().dropped() + frontend.copies().dropped();
    number("publish/messages/received", received);
    number("publish/messages/sent", sent);
    number("publish/messages/dropped", dropped);
    load("load/publish/received", received);
    load("load/publish/sent", sent);
    load("load/publish/dropped", dropped);
    for (PacketType type : PacketType.values()) {
      if (type.fromClients()) number("mqtt/" + type.label() + "/received", () -> traffic.received(type));
      if (type.fromServers()) number("mqtt/" + type.label() + "/sent", () -> traffic.sent(type));
    }
  }

  private void stores() {
    number("messages/stored", () -> sessions.queued());
    number("store/messages/count", () -> sessions.queued());
    number("store/messages/bytes", () -> sessions.queuedBytes());
    number("retained messages/count", () -> retained);
  }

  private static long heap() {
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  private void text(String name, Supplier<String> value) {
    topics.add(new Topic(ROOT + name, value));
  }

  private void number(String name, LongSupplier value) {
    text(name, () -> Long.toString(value.getAsLong()));
  }

  /** Adds a count and its rates. */
  private void counted(String name, LongSupplier count) {
    number(name, count);
    load("load/" + name, count);
  }

  private void load(String name, LongSupplier count) {
    LoadAverage load = new LoadAverage(count);
    loads.add(load);
    mean(name + "/1min", load::oneMinute);
    mean(name + "/5min", load::fiveMinutes);
    mean(name + "/15min", load::fifteenMinutes);
  }

  private void mean(String name, DoubleSupplier mean) {
    text(name, () -> String.format(Locale.ROOT, "%.2f", mean.getAsDouble()));
  }

  /**
   * Adds these figures to the retained messages of a store. Only subscriptions whose filters begin with {@code $SYS}
   * get them.
   */
  public RetainClient over(RetainClient store) {
    return intervalMillis == 0 ? store : new WithSysTopics(store);
  }

  private final class WithSysTopics implements RetainClient {
    private final RetainClient store;

    WithSysTopics(RetainClient store) {
      this.store = store;
    }

    @Override
    public void set(Publication message, Consumer<ReasonCode> answer) {
      store.set(message, answer);
    }

    @Override
    public void add(Publication message, Consumer<Optional<ReasonCode>> answer) {
      store.add(message, answer);
    }

    @Override
    public CompletableFuture<Long> count() {
      return store.count();
    }

    @Override
    public CompletableFuture<Page> find(
        String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
      if (!filter.startsWith("$SYS/")) return store.find(tenant, filter, after, messagesMax, bytesMax);
      if (!tenant.equals(SELF.tenant())) return CompletableFuture.completedFuture(new Page(List.of(), null));
      TopicFilter wanted = TopicFilter.plain(filter);
      List<Publication> found = latest.stream().filter(message -> wanted.matches(message.topic())).toList();
      return CompletableFuture.completedFuture(new Page(found, null));
    }
  }

  /** Starts, once the frontend is open. The first figures are available when this returns or soon after. */
  public void start() {
    if (intervalMillis > 0) frontend.loop(0).post(this::round);
  }

  private void round() {
    if (closed) return;
    scheduleNext();
    if (asking) {
      publish();
      return;
    }
    asking = true;
    Tiers tiers = frontend.loop(0).tiers();
    var sessionsSaid = tiers.inbox().statistics();
    var retainedSaid = tiers.retain().count();
    CompletableFuture.allOf(sessionsSaid, retainedSaid)
        .whenComplete(
            (_, failure) ->
                frontend.loop(0).run(
                    () -> {
                      asking = false;
                      if (failure == null) {
                        sessions = sessionsSaid.join();
                        retained = retainedSaid.join();
                      }
                      publish();
                    }));
  }

  private void publish() {
    if (closed) return;
    long now = clock.millis();
    for (LoadAverage load : loads) load.update(now - updatedMillis);
    updatedMillis = now;
    List<Publication> before = latest;
    List<Publication> after = new ArrayList<>(topics.size());
    List<Publication> changed = new ArrayList<>();
    for (int i = 0; i < topics.size(); i++) {
      byte[] value = topics.get(i).value().get().getBytes(StandardCharsets.UTF_8);
      if (!before.isEmpty() && Arrays.equals(before.get(i).payload(), value)) {
        after.add(before.get(i));
      } else {
        Publication message = Publication.of(SELF, topics.get(i).name(), QoS.AT_MOST_ONCE, true, now, value);
        after.add(message);
        changed.add(message);
      }
    }
    latest = List.copyOf(after);
    for (Publication message : changed) frontend.loop(0).lane().append(message, null, null);
  }

  /**
   * The time until the next full interval of the clock. The current one is skipped if a round ran a little early for
   * it.
   */
  static long untilNext(long nowMillis, long intervalMillis) {
    long left = intervalMillis - Math.floorMod(nowMillis, intervalMillis);
    return left < intervalMillis / 10 ? left + intervalMillis : left;
  }

  private void scheduleNext() {
    long delay = untilNext(clock.millis(), intervalMillis);
    try {
      var _ = frontend.loop(0).executor().schedule(() -> frontend.loop(0).post(this::round), delay, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException _) {
      closed = true; // the event loops have stopped, so there are no subscribers any more
    }
  }

  /** Stops publishing figures. */
  @Override
  public void close() {
    closed = true;
  }
}
