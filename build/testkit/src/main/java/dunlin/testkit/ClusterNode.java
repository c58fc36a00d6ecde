package dunlin.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.Dunlin;
import dunlin.runtime.Surroundings;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One node of a {@link DunlinCluster}: what it is started with, and the node that runs. */
final class ClusterNode {
  /*
   * Owner: the cluster starts and stops it, one call at a time; any thread may ask what runs.
   * Failure: a start that fails leaves nothing running, and may be repeated.
   */
  private static final int ANSWER_MILLIS = 5_000;

  private final int number;
  private final Path directory;
  private final Map<String, String> settings;
  private final SteppedClock clock = new SteppedClock();
  private final BrokerEvents events;
  private final InheritableThreadLocal<@Nullable Integer> origin;
  private final Surroundings surroundings;

  /** Something that a thread of the node does. */
  private record Task<T>(Thread thread, CompletableFuture<T> done) {}

  private volatile @Nullable Task<Dunlin> starting; // the last start
  private volatile Duration forceDelay = Duration.ZERO;

  @GuardedBy("this")
  private boolean givenUp;

  @GuardedBy("this")
  private @Nullable Dunlin running;

  @GuardedBy("this")
  private @Nullable SimpleMeterRegistry meters;

  /**
   * @param routes where it connects to in order to reach another node
   * @param origin has its number in all threads of the node, which says to which node a line of the log belongs
   */
  ClusterNode(
      int number, Path directory, Map<String, String> settings, UnaryOperator<InetSocketAddress> routes, BrokerEvents events,
      InheritableThreadLocal<@Nullable Integer> origin) {
    this.number = number;
    this.directory = directory;
    this.settings = new LinkedHashMap<>(settings);
    this.events = events;
    this.origin = origin;
    surroundings = new Surroundings(clock, routes, () -> forceDelay, () -> 0);
  }

  int number() {
    return number;
  }

  void step(Duration by) {
    clock.step(by);
  }

  void forceDelay(Duration delay) {
    forceDelay = delay;
  }

  /** The node, if it runs. */
  synchronized Optional<Dunlin> running() {
    return Optional.ofNullable(running);
  }

  /** Starts it in a thread of its own. */
  synchronized CompletableFuture<Dunlin> start() {
    givenUp = false;
    var start = inThreadOfNode("start", this::build);
    starting = start;
    return start.done;
  }

  private Dunlin build() {
    var registry = new SimpleMeterRegistry();
    var builder =
        Dunlin.builder()
            .dataDirectory(directory)
            .surroundings(surroundings)
            .meterRegistry(registry)
            .connectionListener(event -> events.add(new BrokerEvent.Connection(Instant.now(), number, event)));
    settings.forEach(builder::set);
    Dunlin started = builder.build();
    synchronized (this) {
      if (!givenUp) {
        running = started;
        meters = registry;
        return started;
      }
    }
    started.close();
    throw new IllegalStateException("the start was given up");
  }

  /** Ends a start in progress, if there is one, and closes what it has started; waits for that, up to a time. */
  void giveUp(Duration within) {
    var ending = starting;
    if (ending == null) return;
    synchronized (this) {
      givenUp = true;
    }
    ending.thread.interrupt();
    try {
      ending.done.handle((_, _) -> true).get(within.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException _) {
      // It failed, or is closed by its own thread if it starts after all.
    }
    close();
  }

  /** Stops it, if it runs. */
  void close() {
    Dunlin stopping;
    synchronized (this) {
      stopping = running;
      running = null;
      meters = null;
    }
    if (stopping == null) return;
    Supplier<Boolean> closing =
        () -> {
          stopping.close();
          return true;
        };
    var closed = inThreadOfNode("stop", closing).done;
    try {
      closed.get(1, TimeUnit.MINUTES);
    } catch (ExecutionException e) {
      throw new IllegalStateException("node " + number + " could not be closed", e.getCause());
    } catch (TimeoutException e) {
      throw new IllegalStateException("node " + number + " could not be closed within a minute", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while node " + number + " was closed", e);
    }
  }

  /** Threads of the node inherit its number from this one. */
  private <T> Task<T> inThreadOfNode(String what, Supplier<T> work) {
    var done = new CompletableFuture<T>();
    var thread =
        Thread.ofPlatform()
            .name("dunlin-testkit-" + what + "-" + number)
            .start(
                () -> {
                  origin.set(number);
                  try {
                    done.complete(work.get());
                  } catch (Throwable e) {
                    done.completeExceptionally(e);
                  }
                });
    return new Task<>(thread, done);
  }

  /** Its meters, if it runs. */
  synchronized Optional<MeterRegistry> meters() {
    return Optional.ofNullable(meters);
  }

  /** The value of one of its meters; not a number while it does not run, or has none of that name. */
  double gauge(String name) {
    return meters().map(all -> all.find(name).gauge()).map(Gauge::value).orElse(Double.NaN);
  }

  /** Why it does not serve clients; empty when it does, or does not run. */
  Optional<String> unready() {
    return running().flatMap(node -> unready(node.adminPort()));
  }

  private static Optional<String> unready(int adminPort) {
    try {
      var ready = new URI("http", null, InetAddress.getLoopbackAddress().getHostAddress(), adminPort, "/ready", null, null).toURL();
      var asked = (HttpURLConnection) ready.openConnection();
      asked.setConnectTimeout(ANSWER_MILLIS);
      asked.setReadTimeout(ANSWER_MILLIS);
      if (asked.getResponseCode() == HttpURLConnection.HTTP_OK) return Optional.empty();
      try (var reason = asked.getErrorStream()) {
        return Optional.of(reason == null ? "it is not ready" : new String(reason.readAllBytes(), StandardCharsets.UTF_8).strip());
      }
    } catch (IOException e) {
      return Optional.of("it does not say whether it is ready: " + e.getMessage());
    } catch (URISyntaxException e) {
      throw new UncheckedIOException(new IOException(e));
    }
  }
}
