package dunlin;

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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;

/**
 * The run that {@code bin/dunlin-train} records: three store nodes that elect a leader and replace it, and then the broker as {@link
 * Main} starts it. Without the store nodes, a node would load and interpret the code of an election during its first one, and the
 * range would be without a leader for about twice as long.
 */
final class Training {
  /*
   * Owner: the main thread; each node starts on a thread of its own, since no start ends before all nodes are up.
   * Failure: a recording without store nodes is still good for brokers, so the run continues. Directories are in
   * java.io.tmpdir, which bin/dunlin-train deletes.
   */
  private static final List<String> NAMES = List.of("training-1", "training-2", "training-3");
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long LOOK_NANOS = 20_000_000;

  private Training() {}

  public static void main(String[] args) {
    try {
      replaceALeader(Files.createTempDirectory("training"));
    } catch (IOException | ExecutionException | TimeoutException | JMException | RuntimeException e) {
      System.err.println("Store nodes are not in the recording: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return;
    }
    Main.main(args);
  }

  private static void replaceALeader(Path directory)
      throws IOException, InterruptedException, ExecutionException, TimeoutException, JMException {
    var ports = freePorts(2 * NAMES.size());
    var services = ports.subList(0, NAMES.size());
    var seeds = String.join(",", services.stream().map(port -> "127.0.0.1:" + port).toList());
    var starting = new ArrayList<CompletableFuture<Dunlin>>();
    for (int i = 0; i < NAMES.size(); i++) {
      var node =
          Dunlin.builder()
              .dataDirectory(directory.resolve(NAMES.get(i)))
              .set("dunlin.roles", "store")
              .set("dunlin.node.name", NAMES.get(i))
              .set("dunlin.cluster.port", String.valueOf(ports.get(NAMES.size() + i)))
              .set("dunlin.cluster.service-port", String.valueOf(services.get(i)))
              .set("dunlin.cluster.seeds", seeds)
              .set("dunlin.cluster.bootstrap-expect", String.valueOf(NAMES.size()));
      starting.add(CompletableFuture.supplyAsync(node::build, task -> Thread.ofPlatform().start(task)));
    }
    try {
      CompletableFuture.allOf(starting.toArray(CompletableFuture<?>[]::new)).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      var first = awaitVoters(NAMES.size());
      starting.get(NAMES.indexOf(first)).join().close();
      awaitVoters(NAMES.size() - 1);
    } finally {
      for (var node : starting) if (node.isDone() && !node.isCompletedExceptionally()) node.join().close();
    }
  }

  /** Waits until this many nodes vote in the meta range and one of them leads it; returns the leader. */
  private static String awaitVoters(int count) throws JMException, TimeoutException {
    long begun = System.nanoTime();
    while (System.nanoTime() - begun < PATIENCE.toNanos()) {
      var roles = roles();
      for (var role : roles.entrySet())
        if (role.getValue().equals("leader") && Collections.frequency(roles.values(), "follower") == count - 1) return role.getKey();
      LockSupport.parkNanos(LOOK_NANOS);
    }
    throw new TimeoutException("no leader of " + count + " voters");
  }

  /** The role of each node in the meta group, by the node's name. */
  private static Map<String, String> roles() throws JMException {
    var server = ManagementFactory.getPlatformMBeanServer();
    var roles = new HashMap<String, String>();
    for (var name : NAMES)
      for (var range : server.queryNames(new ObjectName("dunlin:type=Range,range=meta,node=" + name), null))
        roles.put(name, JMX.newMXBeanProxy(server, range, RangeMXBean.class).getRole());
    return roles;
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
