package dunlin;

import dunlin.cluster.ClusterMXBean;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;

/**
 * The run that {@code bin/dunlin-train} records: three brokers of a cluster with clients, in which the leadership of each range moves and a broker ends, and then the
 * broker as {@link Main} starts it. Without the cluster, a node would load and interpret the code of an election, and of a leader, during its first one, and the range
 * would be without a leader for about twice as long.
 */
final class Training {
  /*
   * Owner: the main thread; each node starts on a thread of its own, since no start ends before all nodes are up, and one thread has the clients.
   * Failure: a recording without the cluster is still good for brokers, so the run continues; so it does without clients or a move. Directories are in
   * java.io.tmpdir, which bin/dunlin-train deletes.
   */
  private static final List<String> NAMES = List.of("training-1", "training-2", "training-3");
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long LOOK_NANOS = 20_000_000;

  private Training() {}

  public static void main(String[] args) {
    try {
      inACluster(Files.createTempDirectory("training"));
    } catch (IOException | ExecutionException | TimeoutException | JMException | RuntimeException e) {
      System.err.println("A cluster is not in the recording, or not all of it: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return;
    }
    Main.main(args);
  }

  private static void inACluster(Path directory) throws IOException, InterruptedException, ExecutionException, TimeoutException, JMException {
    var ports = freePorts(2 * NAMES.size());
    var services = ports.subList(0, NAMES.size());
    var seeds = String.join(",", services.stream().map(port -> "127.0.0.1:" + port).toList());
    var starting = new ArrayList<CompletableFuture<Dunlin>>();
    for (int i = 0; i < NAMES.size(); i++) {
      var node =
          Dunlin.builder()
              .tcpPort(0)
              .dataDirectory(directory.resolve(NAMES.get(i)))
              .set("dunlin.node.name", NAMES.get(i))
              .set("dunlin.cluster.port", String.valueOf(ports.get(NAMES.size() + i)))
              .set("dunlin.cluster.service-port", String.valueOf(services.get(i)))
              .set("dunlin.cluster.seeds", seeds)
              .set("dunlin.cluster.bootstrap-expect", String.valueOf(NAMES.size()))
              .set("dunlin.flapping.connects-max", "0"); // the clients come again at once
      starting.add(CompletableFuture.supplyAsync(node::build, task -> Thread.ofPlatform().start(task)));
    }
    try {
      CompletableFuture.allOf(starting.toArray(CompletableFuture<?>[]::new)).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      awaitVoters(NAMES.size());
      moveLeaders(starting.stream().map(node -> node.join().tcpPort()).toList());
      var first = awaitVoters(NAMES.size());
      starting.get(NAMES.indexOf(first)).join().close();
      awaitVoters(NAMES.size() - 1);
    } finally {
      for (var node : starting) if (node.isDone() && !node.isCompletedExceptionally()) node.join().close();
    }
  }

  /** Has each node lead each range in turn, while clients come and go. */
  private static void moveLeaders(List<Integer> ports) throws InterruptedException, JMException, TimeoutException {
    var done = new AtomicBoolean();
    var clients = Thread.ofPlatform().name("training-clients").start(() -> TrainingLoad.comeAndGo(ports, done::get));
    try {
      long begun = System.nanoTime();
      var ranges = beans("dunlin:type=Range,*").stream().map(range -> range.getKeyProperty("range")).distinct().toList();
      for (var node : NAMES) for (var range : ranges) lead(range, node, begun);
    } finally {
      done.set(true);
      clients.join(PATIENCE);
    }
  }

  private static void lead(String range, String node, long begun) throws JMException, TimeoutException {
    var to = bean("dunlin:type=Cluster,node=" + node, ClusterMXBean.class).getNode();
    while (System.nanoTime() - begun < PATIENCE.toNanos()) {
      var leader = roles(range).entrySet().stream().filter(role -> role.getValue().equals("leader")).map(Map.Entry::getKey).findFirst();
      if (leader.filter(node::equals).isPresent()) return;
      try {
        if (leader.isPresent()) bean("dunlin:type=Range,range=" + range + ",node=" + leader.get(), RangeMXBean.class).transferLeadership(to);
      } catch (StoreException | IllegalStateException e) {
        // It does not lead any more, or the other one cannot lead yet.
      }
      LockSupport.parkNanos(LOOK_NANOS);
    }
    throw new TimeoutException(node + " does not lead " + range);
  }

  /** Waits until this many nodes vote in the meta range and one of them leads it; returns the leader. */
  private static String awaitVoters(int count) throws JMException, TimeoutException {
    long begun = System.nanoTime();
    while (System.nanoTime() - begun < PATIENCE.toNanos()) {
      var roles = roles("meta");
      for (var role : roles.entrySet())
        if (role.getValue().equals("leader") && Collections.frequency(roles.values(), "follower") == count - 1) return role.getKey();
      LockSupport.parkNanos(LOOK_NANOS);
    }
    throw new TimeoutException("no leader of " + count + " voters");
  }

  /** The role of each node in a range, by the node's name. */
  private static Map<String, String> roles(String range) throws JMException {
    var roles = new HashMap<String, String>();
    for (var replica : beans("dunlin:type=Range,range=" + range + ",*"))
      roles.put(replica.getKeyProperty("node"), JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), replica, RangeMXBean.class).getRole());
    return roles;
  }

  private static Set<ObjectName> beans(String pattern) throws JMException {
    return ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName(pattern), null);
  }

  private static <T> T bean(String name, Class<T> shape) throws JMException {
    return JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), new ObjectName(name), shape);
  }

  private static List<Integer> freePorts(int count) throws IOException {
    var ports = new LinkedHashSet<Integer>();
    while (ports.size() < count) {
      try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        ports.add(socket.getLocalPort());
      }
    }
    return List.copyOf(ports);
  }
}
