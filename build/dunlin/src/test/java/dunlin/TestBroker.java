package dunlin;

import dunlin.node.TierConnections;
import static org.awaitility.Awaitility.await;

import dunlin.broker.Frontend;
import dunlin.harness.Restarts;
import dunlin.runtime.HopLedger;
import dunlin.store.StoreException;
import dunlin.store.disk.StoredRows;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import javax.management.JMX;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/** An embedded node for one test, on a free port; on close it checks that every lost message was counted, and waits until its data directory is free. */
public final class TestBroker implements AutoCloseable {
  public static final Duration SOON = Duration.ofMinutes(2);

  private final Dunlin node;

  /** Null once it is released, or for one in memory. */
  private @Nullable Path dataDirectory;

  private TestBroker(Dunlin node, @Nullable Path dataDirectory) {
    this.node = node;
    this.dataDirectory = dataDirectory;
  }

  public static TestBroker on(Path dataDirectory, Map<String, String> settings) {
    var builder = builder().dataDirectory(dataDirectory);
    settings.forEach(builder::set);
    return new TestBroker(builder.build(), dataDirectory);
  }

  /** As the run wants it: with its connections, and with several ranges of sessions. */
  private static Dunlin.Builder builder() {
    return Dunlin.builder().tcpPort(0).tierConnections(tierConnections()).set("dunlin.inbox.ranges", System.getProperty("dunlin.test.ranges", "1"));
  }

  /** Direct calls; or, in the run over wires, pipes that delay and break. */
  private static TierConnections tierConnections() {
    String wires = System.getProperty("dunlin.test.wires", "none");
    return switch (wires) {
      case "none" -> TierConnections.direct();
      case "queues" -> WiredTiers.overQueues(Long.getLong("dunlin.test.seed", System.nanoTime()));
      case "grpc" -> WiredTiers.overGrpc();
      default -> throw new IllegalStateException("dunlin.test.wires is none, queues or grpc, not " + wires);
    };
  }

  public static TestBroker over(TierConnections connections, Path dataDirectory) {
    return over(connections, dataDirectory, Map.of());
  }

  public static TestBroker over(TierConnections connections, Path dataDirectory, Map<String, String> settings) {
    var builder = builder().dataDirectory(dataDirectory).tierConnections(connections);
    settings.forEach(builder::set);
    return new TestBroker(builder.build(), dataDirectory);
  }

  public static TestBroker on(Path dataDirectory) {
    return on(dataDirectory, Map.of());
  }

  public static TestBroker inMemory() {
    return new TestBroker(builder().inMemory().build(), null);
  }

  /** Waits: on a busy machine a node releases its directory only after close() has returned. */
  public static void awaitFree(Path dataDirectory) {
    await()
        .atMost(SOON)
        .ignoreExceptionsInstanceOf(StoreException.class)
        .until(
            () -> {
              StoredRows.open(dataDirectory).close();
              return true;
            });
  }

  public Dunlin node() {
    return node;
  }

  /**
   * One of the node's beans.
   *
   * @param type its type, with further properties of its name if it has any, as in {@code Listener,name=tcp}
   */
  public <T> T bean(String type, Class<T> shape) {
    try {
      var name = new ObjectName("dunlin:type=%s,node=%s".formatted(type, node.nodeId().substring(0, 8)));
      return JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), name, shape);
    } catch (MalformedObjectNameException e) {
      throw new AssertionError(e);
    }
  }

  public Frontend frontend() {
    return frontend(node);
  }

  public static Frontend frontend(Dunlin node) {
    return node.node().frontend();
  }

  public int port() {
    return node.tcpPort();
  }

  public String uri() {
    return "tcp://127.0.0.1:" + port();
  }

  /** received = delivered + returned + dropped + in flight, at both hops of the frontend, at rest. */
  public void awaitBalance() {
    for (HopLedger hop : new HopLedger[] {frontend().publishes(), frontend().copies()}) {
      await("the books of a hop balance")
          .atMost(SOON)
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(10))
          .untilAsserted(
              () -> {
                if (!hop.balanced()) {
                  throw new AssertionError(
                      "received %d = delivered %d + returned %d + dropped %d + in flight %d"
                          .formatted(hop.received(), hop.delivered(), hop.returned(), hop.dropped(), hop.inFlight()));
                }
              });
    }
  }

  @Override
  public void close() {
    try {
      awaitBalance();
    } finally {
      node.close();
      if (dataDirectory != null) Restarts.awaitReleased(dataDirectory);
      dataDirectory = null;
    }
  }
}
