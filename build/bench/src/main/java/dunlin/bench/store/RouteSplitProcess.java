package dunlin.bench.store;

import dunlin.cluster.Cluster;
import dunlin.cluster.MemberSettings;
import dunlin.cluster.call.NodeAddress;
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
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitChoice;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.RangeDescriptor;
import dunlin.store.Replica;
import dunlin.store.raft.RangeStore;
import dunlin.store.serve.WhileLeading;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Measures for how long nothing is matched and no route is set while a range of many routes is split, and while the leadership of its upper half moves. Three nodes of
 * a cluster run in this process with real Raft over loopback; other calls between them are direct, and the leaders are asked without links. Prints a line of JSON for
 * each step; the log says how long the parts of a split took.
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
  private static final long LOOK_NANOS = 5_000_000;
  private static final long PAUSE_NANOS = 1_000_000;
  private static final int NODES = 3;
  private static final int WINDOW = 8_192;
  private static final String TENANT = "default";

  private final List<Node> nodes = new ArrayList<>();
  private final Map<NodeAddress, Cluster> reached = new ConcurrentHashMap<>();
  private final long routes;
  private volatile boolean ends;

  /** A node, with its replicas and the ranges that it leads. */
  private final class Node {
    final RangeStore store;
    final Cluster cluster;
    final Map<UUID, Replica<?, ?>> replicas = new ConcurrentHashMap<>();
    final Map<UUID, RouteRangeClient> led = new ConcurrentHashMap<>();

    Node(Path directory, int raftPort, int servicePort, String seeds) {
      var registry = new SimpleMeterRegistry();
      store = RangeStore.open(StoreSettings.defaults().with(ClusterSettings.loopback(raftPort)), directory, registry);
      var tier = new RouteTier(DistSettings.defaults(Runtime.getRuntime().maxMemory()), TenantQuota.UNLIMITED, registry);
      var kind =
          RouteReplica.kind(
              (replica, rows) -> {
                var id = replica.id().uuid();
                replicas.put(id, replica);
                var _ = WhileLeading.of(replica, () -> serve(tier.lead(replica.id().toString(), rows, Nothing.ELSEWHERE), id));
              });
      var settings = MemberSettings.of(seeds, NODES, "127.0.0.1", servicePort, Set.of(RouteReplica.KIND)).with(operations());
      cluster = Cluster.open(settings, store, directory, RouteSplitProcess.this::call, List.of(kind), registry);
      reached.put(new NodeAddress("127.0.0.1", servicePort), cluster);
    }

    private AutoCloseable serve(RouteTier.Led range, UUID id) {
      led.put(id, range.range());
      return () -> {
        led.remove(id);
        range.close();
      };
    }
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

  RouteSplitProcess(Arguments arguments) throws IOException {
    routes = arguments.number("routes");
    var raft = ports();
    var service = ports();
    var seeds = String.join(",", service.stream().map(port -> "127.0.0.1:" + port).toList());
    for (int i = 0; i < NODES; i++) nodes.add(new Node(arguments.path("data").resolve("node-" + i), raft.get(i), service.get(i), seeds));
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

  /** Leaders are not moved by themselves. */
  private static OperationSettings operations() {
    var d = OperationSettings.defaults();
    return new OperationSettings(d.lagMax(), d.unflushedMax(), d.automaticMax(), d.replicas(), SplitSettings.never(), null, false);
  }

  private byte[] call(NodeAddress to, byte[] request, Duration deadline) throws IOException {
    var there = reached.get(to);
    if (there == null) throw new IOException("no node answers at " + to);
    return there.answer(request, (_, _) -> true);
  }

  private static Route route(long number) {
    return new Route(TENANT, TopicFilter.plain("hold/%07d/+".formatted(number)), ShardId.frontend("frontend"), 1, (int) number);
  }

  private List<Map<String, Object>> run(int busy) throws InterruptedException {
    start();
    var first = descriptors().getFirst().id();
    await("a range of " + NODES + " voters", () -> settled(1) && descriptors().getFirst().peers().size() == NODES);
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
              var _ = leads(first).cluster.begin(SplitChoice.at(descriptors().getFirst(), cut));
              await("two ranges", () -> settled(2));
              System.err.printf("in the map %d ms after it was asked for%n", (System.nanoTime() - begun) / 1_000_000);
            }));
    var child = descriptors().stream().filter(range -> !range.id().equals(first)).findFirst().orElseThrow().id();
    for (int move = 0; move < 3; move++) {
      var to = nodes.stream().filter(node -> !node.led.containsKey(child)).findFirst().orElseThrow();
      results.add(
          step(
              "move", askers,
              () -> {
                var _ = to.cluster.begin(new TransferLeadership(child, to.cluster.self()));
                await("another leader", () -> to.led.containsKey(child) && settled(2));
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
    pause();
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
    await("a leader", () -> leader(key).isPresent());
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

  private void start() throws InterruptedException {
    var starts =
        nodes.stream()
            .map(node -> CompletableFuture.runAsync(() -> node.cluster.start(DEADLINE), task -> Thread.ofPlatform().start(task)))
            .toList();
    try {
      CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).get(2 * DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("the cluster does not start", e);
    }
  }

  /** The ranges of routes in the newest placement map. */
  private List<RangeDescriptor> descriptors() {
    var newest = nodes.stream().map(node -> node.cluster.map()).max((one, other) -> Long.compare(one.version(), other.version())).orElseThrow();
    return newest.rangesOf(RouteReplica.KIND);
  }

  private boolean settled(int ranges) {
    return descriptors().size() == ranges && nodes.stream().allMatch(node -> node.cluster.map().intents().isEmpty());
  }

  private Node leads(UUID range) {
    return nodes.stream().filter(node -> node.led.containsKey(range)).findFirst().orElseThrow();
  }

  private Optional<Leader> leader(byte[] key) {
    for (var node : nodes)
      for (var led : node.led.entrySet()) {
        var descriptor = descriptor(node.replicas.get(led.getKey()));
        if (descriptor != null && descriptor.keys().contains(key)) return Optional.of(new Leader(led.getValue(), descriptor.epoch()));
      }
    return Optional.empty();
  }

  private static @Nullable RangeDescriptor descriptor(@Nullable Replica<?, ?> of) {
    return of == null ? null : of.descriptor().orElse(null);
  }

  private static void await(String what, BooleanSupplier there) {
    long until = System.nanoTime() + DEADLINE.toNanos();
    while (!there.getAsBoolean()) {
      if (System.nanoTime() - until > 0) throw new IllegalStateException("not within " + DEADLINE + ": " + what);
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  /** A park may return early, so it is repeated. */
  private static void pause() {
    long until = System.nanoTime() + AROUND.toNanos();
    for (long left; (left = until - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
  }

  @Override
  public void close() {
    ends = true;
    for (var node : nodes) node.cluster.close();
    for (var node : nodes) node.store.close();
  }
}
