package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.dist.DistClient;
import dunlin.dist.route.Route;
import dunlin.dist.route.RoutePage;
import dunlin.model.ShardId;
import dunlin.runtime.Failures;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the routes that the dist tier has of this frontend with the filters that its sessions have subscribed to, again
 * and again, and mends what differs. Without faults nothing differs: each change of a route is answered. It is for what no
 * answer tells: a route that a later command of the log has brought back, or one that was given up by {@link StaleRoutes}.
 */
public final class RouteAudit {
  /*
   * All pages of the routes are requested, one after the other. Each table looks at the routes of its filters
   * (RouteCheck): it removes those without a subscription, and sets those again that have another number. After the last
   * page it sets the routes that no page had.
   *
   * Owner: the first event loop runs it; the tables are asked on theirs.
   * Bounds: one page in progress, with a pause behind it, and what RouteCheck keeps. SLOTS_MAX slots of a table are looked at in one
   * task. Repairs are changes of the table, and bounded as such.
   * Failure: an audit whose page cannot be read ends, is counted, and the next one begins after the interval.
   */
  private static final Logger log = LoggerFactory.getLogger(RouteAudit.class);
  private static final int SLOTS_MAX = 65_536;
  private static final Duration PAUSE = Duration.ofMillis(50);

  private final List<LoopFanout> parts;
  private final Loop timer;
  private final ShardId shard;
  private final DistClient dist;
  private final Duration interval;
  private final Counter audits;
  private final Counter failed;
  private final Counter stray;
  private final Counter missing;
  private long repairs;

  /** @param interval from the end of one audit to the beginning of the next */
  RouteAudit(List<LoopFanout> parts, ShardId shard, DistClient dist, Duration interval, MeterRegistry registry) {
    this.parts = parts;
    this.timer = parts.getFirst().loop();
    this.shard = shard;
    this.dist = dist;
    this.interval = interval;
    audits = Counter.builder("dunlin.routes.audits").description("Completed comparisons of the dist tier's routes with this node's subscriptions").register(registry);
    failed = Counter.builder("dunlin.routes.audits-failed").description("Comparisons that ended early, because the dist tier did not answer").register(registry);
    stray = repaired(registry, "stray");
    missing = repaired(registry, "missing");
  }

  private static Counter repaired(MeterRegistry registry, String kind) {
    return Counter.builder("dunlin.routes.repaired")
        .tag("kind", kind)
        .description("Routes that a comparison has mended: stray ones, which no subscription needs, and missing or outdated ones. 0 unless something went wrong before")
        .register(registry);
  }

  /** Begins the first audit after the interval. */
  void start() {
    later(interval, this::begin);
  }

  private void begin() {
    repairs = 0;
    all(part -> part.routes().beginCheck(), () -> page(null));
  }

  private void page(byte @Nullable [] from) {
    all(part -> part.routes().beginPage(), () -> request(from));
  }

  private void request(byte @Nullable [] from) {
    var page = Failures.inFuture(() -> dist.routesOf(shard, from));
    page.whenComplete((read, failure) -> timer.run(() -> arrived(read, failure)));
  }

  private void arrived(RoutePage page, @Nullable Throwable failure) {
    if (failure != null) {
      giveUp(Failures.unwrapped(failure));
      return;
    }
    var byTable = new ArrayList<List<Route>>();
    for (int i = 0; i < parts.size(); i++) byTable.add(new ArrayList<>());
    for (Route route : page.routes()) byTable.get(RouteTable.ownerOf(route.tenant(), route.filter(), parts.size())).add(route);
    all(
        part -> part.routes().check(byTable.get(part.loop().index())),
        () -> {
          var next = page.next();
          if (next == null) mendMissing();
          else later(PAUSE, () -> page(next));
        });
  }

  private void mendMissing() {
    all(
        part -> part.routes().mendMissing(SLOTS_MAX),
        () -> {
          if (parts.stream().anyMatch(part -> part.routes().isChecking())) mendMissing();
          else ended();
        });
  }

  private void ended() {
    audits.increment();
    if (repairs > 0) log.warn("Mended {} routes of this node's subscriptions, which the dist tier had without need, or lacked", repairs);
    later(interval, this::begin);
  }

  private void giveUp(Throwable failure) {
    failed.increment();
    log.info("The routes of this node's subscriptions could not be compared: {}", failure.toString());
    all(part -> part.routes().endCheck(), () -> later(interval, this::begin));
  }

  /** What a table has mended. */
  record Mended(int stray, int missing) {
    static final Mended NOTHING = new Mended(0, 0);
  }

  /** Has all tables do a step, each on its event loop, and goes on when all have. Does nothing more once the loops have ended. */
  private void all(Function<LoopFanout, Mended> step, Runnable then) {
    var each = new ArrayList<CompletableFuture<Mended>>();
    for (LoopFanout part : parts) {
      var done = new CompletableFuture<Mended>();
      each.add(done);
      part.loop().post(
          () -> {
            try {
              done.complete(step.apply(part));
            } catch (RuntimeException e) {
              done.completeExceptionally(e);
            }
          });
    }
    CompletableFuture.allOf(each.toArray(CompletableFuture[]::new))
        .whenComplete(
            (_, failure) ->
                timer.run(
                    () -> {
                      if (failure != null) {
                        log.error("The routes of this node's subscriptions are not compared any more", Failures.unwrapped(failure));
                        return;
                      }
                      for (var done : each) count(done.join());
                      then.run();
                    }));
  }

  private void count(Mended mended) {
    stray.increment(mended.stray());
    missing.increment(mended.missing());
    repairs += mended.stray() + mended.missing();
  }

  private void later(Duration delay, Runnable task) {
    if (timer.executor().isShuttingDown()) return;
    timer.executor().schedule(task, delay.toMillis(), TimeUnit.MILLISECONDS);
  }
}
