package dunlin.bench.store;

import dunlin.bench.store.LocalCluster.Node;
import dunlin.cluster.RangeKind;
import dunlin.dist.DistSettings;
import dunlin.dist.RouteTier;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteRangeClient;
import dunlin.dist.route.RouteReplica;
import dunlin.model.ShardId;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.RangeDescriptor;
import dunlin.store.Replica;
import dunlin.store.serve.WhileLeading;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Measures for how long nothing is matched and no route is set while a range of many routes is split, and while the leadership of its upper half moves. Three nodes of
 * a cluster run in this process, and the leaders are asked without links. Prints a line of JSON for each step; the log says how long the parts of a split took.
 *
 * <pre>
 *   arguments: data=DIRECTORY routes= [busy=THREADS]
 * </pre>
 */
public final class RouteSplitProcess implements AutoCloseable {
  /*
   * Owner: the main thread; each asker has its own.
   * Bounds: WINDOW routes are set at a time. `busy` threads take processor time from all that is measured, as other processes of a small machine do.
   * Failure: the process ends if it waits for anything longer than DEADLINE.
   */
  private static final Duration DEADLINE = Duration.ofMinutes(2);
  private static final Duration AROUND = Duration.ofSeconds(2);
  private static final long PAUSE_NANOS = 1_000_000;
  private static final int NODES = 3;
  private static final int WINDOW = 8_192;
  private static final String TENANT = "default";

  private final LocalCluster cluster;
  private final long routes;

  /** The ranges that each node leads. */
  private final Map<Node, Map<UUID, RouteRangeClient>> led = new ConcurrentHashMap<>();

  private volatile boolean ends;

  RouteSplitProcess(Arguments arguments) throws IOException {
    routes = arguments.number("routes");
    cluster = new LocalCluster(arguments.path("data"), RouteReplica.KIND, ports(), ports(), DEADLINE, this::kind);
  }

  private RangeKind<?, ?, ?> kind(Node node) {
    var tier = new RouteTier(DistSettings.defaults(Runtime.getRuntime().maxMemory()), TenantQuota.UNLIMITED, new SimpleMeterRegistry());
    return RouteReplica.kind(
        (replica, rows) -> {
          node.replicas.put(replica.id().uuid(), replica);
          var _ = WhileLeading.of(replica, () -> serve(node, replica.id().uuid(), tier.lead(replica.id().toString(), rows, Nothing.ELSEWHERE)));
        });
  }

  private AutoCloseable serve(Node node, UUID range, RouteTier.Led opened) {
    var here = led.computeIfAbsent(node, _ -> new ConcurrentHashMap<>());
    here.put(range, opened.range());
    return () -> {
      here.remove(range);
      opened.close();
    };
  }

  private enum Nothing implements RouteTier.RoutesElsewhere {
    ELSEWHERE;

    @Override
    public long memory() {
      return 0;
    }

    @Override
    public long routesOf(String tenant) {
      return 0;
    }
  }

  /** A leader of a range, as callers know it. */
  private record Leader(RouteRangeClient range, long epoch) {}

  /** Asks the leader of a key again and again, one question at a time. */
  private final class Asker {
    final Gaps gaps = new Gaps();
    private final byte[] key;
    private final Function<Leader, CompletableFuture<?>> question;

    Asker(String name, byte[] key, Function<Leader, CompletableFuture<?>> question) {
      this.key = key;
      this.question = question;
      Thread.ofPlatform().daemon().name(name).start(this::run);
    }

    private void run() {
      while (!ends) {
        var leader = leader(key);
        try {
          if (leader.isPresent()) {
            var _ = question.apply(leader.get()).get(1, TimeUnit.SECONDS);
            gaps.event(System.nanoTime());
          }
        } catch (ExecutionException | TimeoutException e) {
          // It is asked again.
        } catch (InterruptedException e) {
          return;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private static List<Integer> ports() throws IOException {
    var ports = new ArrayList<Integer>();
    var held = new ArrayList<ServerSocket>();
    try {
      for (int i = 0; i < NODES; i++) {
        var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        held.add(socket);
        ports.add(socket.getLocalPort());
      }
    } finally {
      for (var socket : held) socket.close();
    }
    return ports;
  }

  public static void main(String[] args) throws Exception {
    var answers = System.out;
    System.setOut(System.err); // for output of libraries
    var arguments = Arguments.parse(List.of(args));
    try (var process = new RouteSplitProcess(arguments)) {
      for (var result : process.run((int) arguments.number("busy", 0))) answers.println(Json.line(result));
    }
    answers.flush();
  }

  private static Route route(long number) {
    return new Route(TENANT, TopicFilter.plain("hold/%07d/+".formatted(number)), ShardId.frontend("frontend"), 1, (int) number);
  }

  List<Map<String, Object>> run(int busy) throws InterruptedException {
    cluster.start();
    var first = cluster.ranges().getFirst().id();
    load();
    for (int i = 0; i < busy; i++) Thread.ofPlatform().daemon().name("busy-" + i).start(this::beBusy);
    var askers = new LinkedHashMap<String, Asker>();
    for (var half : List.of("lower", "upper")) {
      long number = half.equals("lower") ? 1 : routes - 1;
      byte[] key = RouteReplica.first(TENANT, "hold/%07d/+".formatted(number));
      byte[] topic = "hold/%07d/x".formatted(number).getBytes(StandardCharsets.UTF_8);
      var added = new Route(TENANT, TopicFilter.plain("hold/%07d/added".formatted(number)), ShardId.frontend("frontend"), 1, 0);
      askers.put("match_" + half, new Asker("match-" + half, key, at -> at.range.match(at.epoch, TENANT, topic, MatchSignature.NONE, new byte[0])));
      askers.put(
          "change_" + half,
          new Asker("change-" + half, key, at -> at.range.addRoute(at.epoch, added).thenCompose(_ -> at.range.removeRoute(at.epoch, added))));
    }
    var results = new ArrayList<Map<String, Object>>();
    results.add(step("nothing", askers, () -> {}));
    var cut = RouteReplica.first(TENANT, "hold/%07d".formatted(routes / 2));
    var begun = System.nanoTime();
    results.add(
        step(
            "split", askers,
            () -> {
              var _ = cluster.nodes().getFirst().cluster.begin(SplitChoice.at(cluster.ranges().getFirst(), cut));
              cluster.await("two ranges", () -> cluster.isSettled(2));
              System.err.printf("in the map %d ms after it was asked for%n", (System.nanoTime() - begun) / 1_000_000);
            }));
    var child = cluster.ranges().stream().filter(range -> !range.id().equals(first)).findFirst().orElseThrow().id();
    for (int move = 0; move < 3; move++) {
      var to = cluster.nodes().stream().filter(node -> !leads(node, child)).findFirst().orElseThrow();
      results.add(
          step(
              "move", askers,
              () -> {
                var _ = to.cluster.begin(new TransferLeadership(child, to.cluster.self()));
                cluster.await("another leader", () -> leads(to, child) && cluster.isSettled(2));
              }));
    }
    ends = true;
    return results;
  }

  private void beBusy() {
    long sum = 0;
    while (!ends) sum += System.nanoTime();
    if (sum == 0) throw new IllegalStateException("no time has passed");
  }

  private interface Act {
    void play() throws InterruptedException;
  }

  private static Map<String, Object> step(String name, Map<String, Asker> askers, Act act) throws InterruptedException {
    long begun = System.nanoTime();
    askers.values().forEach(asker -> asker.gaps.begin(System.nanoTime()));
    act.play();
    double millis = (System.nanoTime() - begun) / 1e6;
    LocalCluster.pause(AROUND);
    var result = new LinkedHashMap<String, Object>();
    result.put("step", name);
    result.put("ms", millis);
    askers.forEach((what, asker) -> result.put(what + "_gap_ms", asker.gaps.longest(System.nanoTime()) / 1e6));
    return result;
  }

  private void load() throws InterruptedException {
    var places = new Semaphore(WINDOW);
    var failures = new ConcurrentHashMap<Long, Throwable>();
    byte[] key = RouteReplica.first(TENANT, "");
    cluster.await("a leader", () -> leader(key).isPresent());
    var at = leader(key).orElseThrow();
    for (long i = 0; i < routes && failures.isEmpty(); i++) {
      long number = i;
      places.acquire();
      var _ =
          at.range
              .addRoute(at.epoch, route(i))
              .whenComplete(
                  (_, failure) -> {
                    if (failure != null) failures.put(number, failure);
                    places.release();
                  });
    }
    places.acquire(WINDOW);
    if (!failures.isEmpty()) throw new IllegalStateException("routes cannot be set: " + failures.values().iterator().next());
  }

  private boolean leads(Node node, UUID range) {
    return led.getOrDefault(node, Map.of()).containsKey(range);
  }

  private Optional<Leader> leader(byte[] key) {
    for (var node : cluster.nodes())
      for (var range : led.getOrDefault(node, Map.of()).entrySet()) {
        var descriptor = descriptor(node.replicas.get(range.getKey()));
        if (descriptor != null && descriptor.keys().contains(key)) return Optional.of(new Leader(range.getValue(), descriptor.epoch()));
      }
    return Optional.empty();
  }

  private static @Nullable RangeDescriptor descriptor(@Nullable Replica<?, ?> of) {
    return of == null ? null : of.descriptor().orElse(null);
  }

  @Override
  public void close() {
    ends = true;
    cluster.close();
  }
}
