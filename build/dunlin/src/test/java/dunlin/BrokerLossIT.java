package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.RawClient.Connect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Three brokers of one cluster, each a process of its own, of which one after the other is killed and started again. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class BrokerLossIT {
  private static final int NODES = 3;
  private static final int MESSAGES = 20;
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir Path directory;
  private final int[] ports = IntStream.generate(StoreClusterIT::freePort).limit(2 * NODES).toArray();
  private final @Nullable BrokerProcess[] brokers = new @Nullable BrokerProcess[NODES];

  @BeforeEach
  void startAll() {
    for (int i = 0; i < NODES; i++) launch(i);
    for (int i = 0; i < NODES; i++) broker(i).awaitStarted(LONG);
  }

  private void launch(int node) {
    String seeds = IntStream.range(0, NODES).mapToObj(i -> "127.0.0.1:" + ports[i]).collect(Collectors.joining(","));
    brokers[node] =
        BrokerProcess.launch(
            directory.resolve("node-" + node),
            "dunlin.cluster.service-port=" + ports[node],
            "dunlin.cluster.port=" + ports[NODES + node],
            "dunlin.cluster.seeds=" + seeds,
            "dunlin.cluster.bootstrap-expect=" + NODES,
            "dunlin.cluster.heartbeat=200ms",
            "dunlin.cluster.lease=5s",
            "dunlin.cluster.down-after=6s",
            "dunlin.cluster.election-timeout=1s");
  }

  private BrokerProcess broker(int node) {
    var broker = brokers[node];
    if (broker == null) throw new AssertionError("not launched");
    return broker;
  }

  @AfterEach
  void stopAll() {
    for (var broker : brokers) if (broker != null) broker.close();
  }

  /** A client that connects to another broker when it cannot go on. */
  private final class Moving {
    private final Connect connect;
    private final int stride;
    private int node;
    private @Nullable RawClient client;

    Moving(Connect connect, int node) {
      this(connect, node, 1);
    }

    /** @param stride from one broker to the next; 0 to stay at the first one */
    Moving(Connect connect, int node, int stride) {
      this.connect = connect;
      this.node = node;
      this.stride = stride;
    }

    /** Tries until it has a result. */
    <T> T tries(String what, Function<RawClient, @Nullable T> step) {
      var result = new AtomicReference<@Nullable T>();
      var last = new AtomicReference<@Nullable Throwable>();
      try {
        await(what)
            .atMost(LONG)
            .pollInterval(Duration.ofMillis(50))
            .until(
                () -> {
                  try {
                    result.set(step.apply(connected()));
                  } catch (RuntimeException | AssertionError e) {
                    last.set(e);
                  }
                  if (result.get() != null) return true;
                  moves();
                  return false;
                });
      } catch (RuntimeException e) {
        throw new AssertionError(what + "; at last " + last.get() + "; " + Arrays.toString(brokers), e);
      }
      return Objects.requireNonNull(result.get());
    }

    private RawClient connected() {
      var present = client;
      if (present == null) client = present = RawClient.connected(broker(node).port(), connect);
      return present;
    }

    private void moves() {
      if (client != null) client.close();
      client = null;
      node = (node + stride) % NODES;
    }

    void publish(String text) {
      tries("PUBACK of " + text, to -> to.publishAndWait("t", text) == 0 ? text : null);
    }

    String receive() {
      return tries(
          "the next message",
          from -> {
            var publish = from.next(RawClient.PUBLISH);
            if (publish.qos() > 0) from.puback(publish.packetId());
            return publish.text();
          });
    }

    void close() {
      if (client != null) client.close();
    }
  }

  private static boolean subscribed(RawClient client) {
    client.subscribe("t", 1);
    return true;
  }

  @Test
  void acknowledgedMessagesSurviveTheLossOfAnyBroker() {
    var subscriber = new Moving(Connect.of("subscriber"), 0);
    subscriber.tries("SUBACK", BrokerLossIT::subscribed);
    var publisher = new Moving(Connect.of("publisher").clean().expiry(0), 1);
    var published = new ArrayList<String>();
    var received = new LinkedHashSet<String>();
    for (int node = 0; node < NODES; node++) {
      for (int i = 0; i < MESSAGES; i++) {
        if (i == MESSAGES / 2) broker(node).kill();
        String text = node + "." + i;
        publisher.publish(text);
        published.add(text);
      }
      while (received.size() < published.size()) received.add(subscriber.receive());
      assertThat(received).containsExactlyElementsOf(published);
      launch(node);
      broker(node).awaitStarted(LONG);
    }
    subscriber.close();
    publisher.close();
  }

  @Test
  void aDeadBrokersClientsHoldUpNoPublisher() {
    var clean = new Moving(Connect.of("clean").clean().expiry(0), 0, 0);
    clean.tries("SUBACK", BrokerLossIT::subscribed);
    var publisher = new Moving(Connect.of("publisher").clean().expiry(0), 1);
    publisher.publish("before");
    broker(0).kill();

    // Until the cluster counts the broker as dead, messages that match its clients' routes are answered with an error.
    var subscriber = new Moving(Connect.of("subscriber").clean(), 2);
    subscriber.tries("SUBACK", BrokerLossIT::subscribed);
    publisher.publish("after");
    assertThat(subscriber.receive()).isEqualTo("after");
    for (Moving each : List.of(clean, subscriber, publisher)) each.close();
  }
}
