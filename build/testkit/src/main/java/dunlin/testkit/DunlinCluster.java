package dunlin.testkit;

import dunlin.Dunlin;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Brokers in the JVM of a test: one that runs alone, or several of one cluster. Nodes are numbered from 0.
 *
 * <p>All run the real code, over real connections on loopback, with their data in a temporary directory. Clients and other nodes reach a node through relays
 * of this class, which it uses for its faults; the port for clients stays the same when a node is started again. Two clusters, also of two test classes that
 * run at the same time, share nothing but the machine.
 *
 * <p>Faults may be combined, last until they are ended, and apply to a node whether it runs or not. Any thread may call this; {@link #start(int)}, {@link
 * #stop}, {@link #kill} and {@link #close} wait for each other. A number that no node has is answered with an {@link IndexOutOfBoundsException}, and the
 * pair of a node with itself with an {@link IllegalArgumentException}.
 */
public final class DunlinCluster implements AutoCloseable {
  /*
   * Owner: the test. Nodes are started and stopped under the lock; faults need none.
   * Bounds: NODES_MAX nodes. Their relays, events and settings have their own.
   * Failure: a start that fails stops all nodes and deletes the directory.
   */
  private static final int NODES_MAX = 7;
  private static final String LOGBACK = "ch.qos.logback.classic.LoggerContext";
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final Duration FORCE_MAX = Duration.ofSeconds(5);
  private static final Duration DELETE_MAX = Duration.ofSeconds(20);
  private static final Duration TO_GIVE_UP = Duration.ofSeconds(15);

  private final Path directory;
  private final boolean temporary;
  private final Duration startMax;
  private final Network network;
  private final List<ClusterNode> nodes = new ArrayList<>();
  private final BrokerEvents events = new BrokerEvents();
  private final InheritableThreadLocal<@Nullable Integer> origin = new InheritableThreadLocal<>();
  private final @Nullable AutoCloseable lines;
  private final ReentrantLock lock = new ReentrantLock();

  private DunlinCluster(Builder builder, Path directory) {
    this.directory = directory;
    temporary = builder.directory == null;
    startMax = builder.startMax;
    network = new Network(builder.nodes);
    for (int i = 0; i < builder.nodes; i++) {
      var settings = builder.effective(i, network);
      var node = new ClusterNode(i, directory.resolve("node-" + i), settings, network.routes(i), events, origin);
      node.step(builder.clocks.getOrDefault(i, Duration.ZERO));
      nodes.add(node);
    }
    lines = LoggerFactory.getILoggerFactory().getClass().getName().equals(LOGBACK) ? LogbackLines.to(events::add, origin::get) : null;
  }

  /** A builder for three nodes with all settings at their defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** The number of nodes, running or not. */
  public int size() {
    return nodes.size();
  }

  /**
   * A running node, for what the embedded API offers.
   *
   * @throws IllegalStateException when it does not run
   */
  public Dunlin node(int node) {
    return nodes.get(node).running().orElseThrow(() -> new IllegalStateException("node " + node + " does not run"));
  }

  /** Whether a node was started and neither stopped nor killed. */
  public boolean isRunning(int node) {
    return nodes.get(node).running().isPresent();
  }

  /** The port at which clients reach a node by MQTT over TCP, on loopback. It refuses connections while the node does not run. */
  public int port(int node) {
    Objects.checkIndex(node, nodes.size());
    return network.clientPort(node);
  }

  /** The same as {@code tcp://host:port}. */
  public URI uri(int node) {
    return URI.create("tcp://" + InetAddress.getLoopbackAddress().getHostAddress() + ":" + port(node));
  }

  /** Those of all nodes, in their order. */
  public List<URI> uris() {
    return IntStream.range(0, nodes.size()).mapToObj(this::uri).toList();
  }

  /** The meters of a running node, which begin anew when it is started again. */
  public MeterRegistry meters(int node) {
    return nodes.get(node).meters().orElseThrow(() -> new IllegalStateException("node " + node + " does not run"));
  }

  /** Where the data of all nodes is. */
  Path directory() {
    return directory;
  }

  /** What the brokers have reported since the cluster was started. */
  public BrokerEvents events() {
    return events;
  }

  /**
   * Starts a node that was stopped or killed, with the data that it had. Returns when clients can connect to it; {@link #awaitReady} waits for more.
   *
   * @throws IllegalStateException when it runs, or cannot start in time
   */
  public void start(int node) {
    lock.lock();
    try {
      if (isRunning(node)) throw new IllegalStateException("node " + node + " runs already");
      network.present(node, true);
      awaitStarts(List.of(nodes.get(node)));
    } finally {
      lock.unlock();
    }
  }

  private void startAll() {
    for (int i = 0; i < nodes.size(); i++) network.present(i, true);
    awaitStarts(nodes);
    awaitReady(startMax);
  }

  /** One that fails ends the others, which would wait for it. */
  private void awaitStarts(List<ClusterNode> starting) {
    var starts = starting.stream().map(ClusterNode::start).toList();
    var failed = new CompletableFuture<Void>();
    for (var each : starts) each.whenComplete((_, failure) -> {
      if (failure != null) failed.completeExceptionally(failure);
    });
    var all = CompletableFuture.allOf(starts.toArray(CompletableFuture[]::new));
    try {
      CompletableFuture.anyOf(all, failed).get(startMax.plus(TO_GIVE_UP).toMillis(), TimeUnit.MILLISECONDS);
      for (ClusterNode each : starting) network.serves(each.number(), true);
    } catch (ExecutionException e) {
      giveUp(starting);
      Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
      throw new IllegalStateException("a node cannot start: " + cause.getMessage(), cause);
    } catch (TimeoutException e) {
      giveUp(starting);
      throw new IllegalStateException("a node has not started within " + startMax, e);
    } catch (InterruptedException e) {
      giveUp(starting);
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while nodes were started", e);
    }
  }

  private void giveUp(List<ClusterNode> starting) {
    starting.forEach(each -> {
      network.present(each.number(), false);
      each.giveUp(TO_GIVE_UP);
    });
  }

  /**
   * Stops a node as an operator would: leaders are handed over, clients get DISCONNECT 0x8B, stores are closed. Does nothing when it does not run.
   */
  public void stop(int node) {
    end(node, false);
  }

  /**
   * Ends a node as near to a crash as one JVM allows. For clients and other nodes it is one: all connections from and to the node are reset at once, new ones
   * are refused, and nothing that the node does from then on reaches anybody. So there is no DISCONNECT, no leader is handed over, and the acknowledgement
   * that was about to be sent is lost.
   *
   * <p>Not simulated is what a crash does to the disk: threads of a JVM cannot be killed, so the node is closed behind its dead connections, and writes what a
   * crash would have left unwritten. It may also finish what it was doing, such as storing a message that it can no longer acknowledge; and a broker that runs
   * alone sees its clients go, and sends their wills. A loss of power is not simulated either. For these, run brokers as processes. Does nothing when the node
   * does not run.
   */
  public void kill(int node) {
    end(node, true);
  }

  private void end(int node, boolean abruptly) {
    lock.lock();
    try {
      if (!isRunning(node)) return;
      if (abruptly) leave(node);
      try {
        nodes.get(node).close();
      } finally {
        leave(node);
      }
    } finally {
      lock.unlock();
    }
  }

  private void leave(int node) {
    network.present(node, false); // first, so that other nodes hear nothing of what the loss of its clients makes it do
    network.serves(node, false);
  }

  /**
   * Cuts a node off from all others, in both directions, until {@link #heal}. As in a network that loses everything, connections stay open and nothing arrives;
   * new ones seem to open and hear nothing. Clients reach the node as before: it disconnects them when its lease has run out.
   */
  public void cut(int node) {
    Objects.checkIndex(node, nodes.size());
    for (int other = 0; other < nodes.size(); other++) if (other != node) network.cut(node, other);
  }

  /**
   * Cuts two nodes off from each other, until {@link #heal}; others reach both. After some seconds, leaderships move to a node that reaches all others. With
   * two nodes there is none: then the one that does not lead the meta group disconnects its clients, since its lease has run out.
   */
  public void cut(int one, int other) {
    Objects.checkIndex(one, nodes.size());
    Objects.checkIndex(other, nodes.size());
    if (one == other) throw new IllegalArgumentException("node " + one + " cannot be cut off from itself");
    network.cut(one, other);
  }

  /** Ends all cuts. What was sent during them arrives now, on connections that have lasted so long. */
  public void heal() {
    network.heal();
  }

  /**
   * Delays what a node and the others send to each other, in both directions. Replaces an earlier delay of these connections.
   *
   * @param later for each way; zero ends it
   */
  public void delay(int node, Duration later) {
    Objects.checkIndex(node, nodes.size());
    if (later.isNegative()) throw new IllegalArgumentException("a delay of " + later);
    network.delay(node, later);
  }

  /**
   * Moves the wall clock of a node, forwards or backwards, from where it is; steps add up. A running broker warns of it, and neither ends a session nor
   * expires a message because of it. At its next start a node measures by this clock how long it was stopped: up to an hour counts at once.
   */
  public void stepClock(int node, Duration by) {
    nodes.get(node).step(by);
  }

  /**
   * Makes the disk of a node slow: forcing a log takes so much longer, each time. What is read, and what is written to the tables that are made from the logs,
   * takes no longer. Logs are delayed even when {@code dunlin.store.fsync} is false, as it is here by default.
   *
   * @param longer 5 s at most; zero ends it
   */
  public void slowDisk(int node, Duration longer) {
    if (longer.isNegative() || longer.compareTo(FORCE_MAX) > 0)
      throw new IllegalArgumentException("a disk that is slower by %s, must be from 0 to %s".formatted(longer, FORCE_MAX));
    nodes.get(node).forceDelay(longer);
  }

  /**
   * Waits until all running nodes serve clients, and all replicas are there if all nodes run. The builder has waited for this once.
   *
   * @throws AssertionError when they do not in time; the message says what is missing
   */
  public void awaitReady(Duration within) {
    long deadline = System.nanoTime() + within.toNanos();
    while (true) {
      String missing = missing();
      if (missing.isEmpty()) return;
      if (System.nanoTime() - deadline >= 0) throw new AssertionError("not ready within " + within + ": " + missing);
      LockSupport.parkNanos(LOOK_NANOS);
      if (Thread.currentThread().isInterrupted()) throw new AssertionError("interrupted: " + missing);
    }
  }

  /** What {@link #awaitReady} would wait for now, in words; empty when there is nothing. */
  public String missing() {
    var missing = new ArrayList<String>();
    int running = 0;
    for (ClusterNode node : nodes) {
      if (node.running().isEmpty()) continue;
      running++;
      node.unready().ifPresent(why -> missing.add("node " + node.number() + ": " + why));
    }
    if (running == 0) return "no node runs";
    if (running == nodes.size() && running > 1) {
      for (ClusterNode node : nodes) {
        double up = node.gauge("dunlin.cluster.nodes");
        double lacking = node.gauge("dunlin.cluster.replicas.missing");
        if (up != running) missing.add("node %d knows %.0f nodes that are up".formatted(node.number(), up));
        else if (lacking != 0) missing.add("node %d: %.0f replicas are missing".formatted(node.number(), lacking));
      }
    }
    return String.join("; ", missing);
  }

  /** Stops all nodes and deletes the temporary directory. Idempotent. */
  @Override
  public void close() {
    lock.lock();
    try {
      var failures = new ArrayList<Exception>();
      heal();
      attempt(this::stopAll, failures);
      attempt(network, failures);
      if (lines != null) attempt(lines, failures);
      if (temporary) attempt(this::delete, failures);
      if (failures.isEmpty()) return;
      var failure = new IllegalStateException("the cluster was not closed in full: " + failures.getFirst().getMessage(), failures.removeFirst());
      failures.forEach(failure::addSuppressed);
      throw failure;
    } finally {
      lock.unlock();
    }
  }

  private static void attempt(AutoCloseable closing, List<Exception> failures) {
    try {
      closing.close();
    } catch (Exception e) {
      failures.add(e);
    }
  }

  /** At the same time, since each waits for others. */
  private void stopAll() {
    try {
      CompletableFuture.allOf(nodes.stream().map(each -> CompletableFuture.runAsync(each::close, Thread::startVirtualThread)).toArray(CompletableFuture[]::new)).join();
    } finally {
      for (int i = 0; i < nodes.size(); i++) leave(i);
    }
  }

  /** A store that has not stopped in time goes on in the background, and writes files for a moment. */
  private void delete() throws IOException {
    long deadline = System.nanoTime() + DELETE_MAX.toNanos();
    while (true) {
      try {
        deleteNow();
        return;
      } catch (IOException | UncheckedIOException e) {
        if (System.nanoTime() - deadline >= 0) throw e;
        LockSupport.parkNanos(LOOK_NANOS);
      }
    }
  }

  private void deleteNow() throws IOException {
    if (!Files.exists(directory)) return;
    var all = new ArrayList<Path>();
    try (var files = Files.walk(directory)) {
      files.forEach(all::addFirst);
    }
    for (Path each : all) Files.deleteIfExists(each);
  }

  /** Configures a cluster. Not thread-safe. */
  public static final class Builder {
    /** What the cluster sets itself. */
    private static final Set<String> OWN =
        Set.of(
            "dunlin.data-dir", "dunlin.admin.port", "dunlin.listeners.tcp.host", "dunlin.listeners.tcp.port", "dunlin.cluster.port", "dunlin.cluster.service-port",
            "dunlin.cluster.host", "dunlin.cluster.bind", "dunlin.cluster.seeds", "dunlin.cluster.bootstrap-expect", "dunlin.cluster.join-timeout");

    private final Map<String, String> common = new LinkedHashMap<>();
    private final TreeMap<Integer, Map<String, String>> byNode = new TreeMap<>();
    private final TreeMap<Integer, Duration> clocks = new TreeMap<>();
    private int nodes = 3;
    private Duration startMax = Duration.ofMinutes(1);
    private @Nullable Path directory;

    private Builder() {
      common.put("dunlin.store.fsync", "false");
    }

    /** The number of nodes, 1 to 7. One is a broker that runs alone. */
    public Builder nodes(int number) {
      if (number < 1 || number > NODES_MAX) throw new IllegalArgumentException("%d nodes, must be 1 to %d".formatted(number, NODES_MAX));
      nodes = number;
      return this;
    }

    /**
     * Sets a {@code dunlin.*} setting of all nodes; see docs/configuration.md. By default logs are not forced to disk, and nodes of a cluster miss each other
     * within a few seconds.
     *
     * @throws IllegalArgumentException when the cluster has to set it itself, such as ports
     */
    public Builder set(String key, String value) {
      common.put(checked(key), Objects.requireNonNull(value));
      return this;
    }

    /** The same for one node, where it takes precedence. */
    public Builder set(int node, String key, String value) {
      byNode.computeIfAbsent(node, _ -> new LinkedHashMap<>()).put(checked(key), Objects.requireNonNull(value));
      return this;
    }

    /** Has the wall clock of a node be wrong when it is started for the first time, forwards or backwards; steps add up, also with {@link DunlinCluster#stepClock} later. */
    public Builder stepClock(int node, Duration by) {
      clocks.merge(node, by, Duration::plus);
      return this;
    }

    private static String checked(String key) {
      if (OWN.contains(key) || key.startsWith("dunlin.cluster.tls."))
        throw new IllegalArgumentException(key + " is set by the test kit");
      return key;
    }

    /** Keeps the data in this directory, which is not deleted, instead of a temporary one. */
    public Builder directory(Path kept) {
      directory = kept;
      return this;
    }

    /** How long the start may take; a minute by default. */
    public Builder startWithin(Duration within) {
      if (within.compareTo(Duration.ofSeconds(1)) < 0) throw new IllegalArgumentException("a start within " + within + ", must be a second or more");
      startMax = within;
      return this;
    }

    /**
     * Starts all nodes. Returns when all serve clients and all replicas are there.
     *
     * @throws IllegalStateException when a node cannot start, with its reason; nothing is left running
     * @throws AssertionError when they are not ready in time; nothing is left running
     */
    public DunlinCluster start() {
      if (!byNode.isEmpty() && (byNode.firstKey() < 0 || byNode.lastKey() >= nodes))
        throw new IllegalArgumentException("there are settings for nodes %s of %d nodes".formatted(byNode.keySet(), nodes));
      if (!clocks.isEmpty() && (clocks.firstKey() < 0 || clocks.lastKey() >= nodes))
        throw new IllegalArgumentException("there are clocks for nodes %s of %d nodes".formatted(clocks.keySet(), nodes));
      var cluster = new DunlinCluster(this, directory == null ? temporary() : directory);
      try {
        cluster.startAll();
        return cluster;
      } catch (RuntimeException | Error e) {
        try {
          cluster.close();
        } catch (RuntimeException onClose) {
          e.addSuppressed(onClose);
        }
        throw e;
      }
    }

    private static Path temporary() {
      try {
        return Files.createTempDirectory("dunlin-testkit");
      } catch (IOException e) {
        throw new UncheckedIOException("there is no temporary directory for a cluster", e);
      }
    }

    private Map<String, String> effective(int node, Network network) {
      var all = new LinkedHashMap<String, String>();
      String host = InetAddress.getLoopbackAddress().getHostAddress();
      if (nodes > 1) {
        all.put("dunlin.cluster.heartbeat", "200ms");
        // Several nodes share the processors of a test, which is often itself slow.
        all.put("dunlin.cluster.election-timeout", "2s");
        all.put("dunlin.cluster.lease", "5s");
        all.put("dunlin.cluster.down-after", "6s");
      }
      all.putAll(common);
      all.putAll(byNode.getOrDefault(node, Map.of()));
      all.put("dunlin.admin.port", "0");
      all.put("dunlin.listeners.tcp.host", host);
      all.put("dunlin.listeners.tcp.port", Integer.toString(network.mqttPort(node)));
      if (nodes > 1) {
        all.put("dunlin.cluster.host", host);
        all.put("dunlin.cluster.bind", host);
        all.put("dunlin.cluster.service-port", Integer.toString(network.servicePort(node)));
        all.put("dunlin.cluster.port", Integer.toString(network.raftPort(node)));
        all.put("dunlin.cluster.seeds", IntStream.range(0, nodes).mapToObj(i -> seed(host, network.servicePort(i))).collect(Collectors.joining(",")));
        all.put("dunlin.cluster.bootstrap-expect", Integer.toString(nodes));
        all.put("dunlin.cluster.join-timeout", startMax.toMillis() + "ms");
      }
      return all;
    }

    private static String seed(String host, int port) {
      return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
  }
}
