package dunlin.harness;

import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A client of a cluster's brokers, that connects to another one when it cannot go on. */
public final class MovingClient implements AutoCloseable {
  private static final Duration LONG = Duration.ofMinutes(2);

  private final List<BrokerProcess> brokers;
  private final Connect connect;
  private final int stride;

  private int node;
  private @Nullable RawClient client;

  /**
   * @param brokers may be replaced and may become more; read by the client's thread
   * @param node the number of the first broker to connect to
   */
  public MovingClient(List<BrokerProcess> brokers, Connect connect, int node) {
    this(brokers, connect, node, 1);
  }

  /** @param stride from one broker to the next; 0 to stay at the first one */
  public MovingClient(List<BrokerProcess> brokers, Connect connect, int node, int stride) {
    this.brokers = brokers;
    this.connect = connect;
    this.node = node;
    this.stride = stride;
  }

  /** Tries until it has a result. */
  public <T> T tries(String what, Function<RawClient, @Nullable T> step) {
    var result = new AtomicReference<@Nullable T>();
    var last = new AtomicReference<@Nullable Throwable>();
    try {
      await(what)
          .atMost(LONG)
          .pollInterval(Duration.ofMillis(50))
          .pollDelay(Duration.ZERO)
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
      throw new AssertionError(what + "; at last " + last.get() + "; " + brokers, e);
    }
    return Objects.requireNonNull(result.get());
  }

  private RawClient connected() {
    var present = client;
    if (present == null) client = present = RawClient.connected(brokers.get(node).port(), connect);
    return present;
  }

  private void moves() {
    close();
    client = null;
    node = (node + stride) % brokers.size();
  }

  public void subscribe(String filter) {
    tries(
        "SUBACK",
        to -> {
          to.subscribe(filter, 1);
          return filter;
        });
  }

  public void publish(String topic, String text, boolean retain) {
    tries("PUBACK of " + text, to -> to.publishAndWait(topic, text, retain) == 0 ? text : null);
  }

  public String receive() {
    return tries(
        "the next message",
        from -> {
          var publish = from.next(RawClient.PUBLISH);
          if (publish.qos() > 0) from.puback(publish.packetId());
          return publish.text();
        });
  }

  /** The next messages in their order, each once: what was sent again over another connection is left out. */
  public List<String> receive(int messages) {
    List<String> received = new ArrayList<>();
    while (received.size() < messages) {
      String text = receive();
      if (!received.contains(text)) received.add(text);
    }
    return received;
  }

  @Override
  public void close() {
    if (client != null) client.close();
  }
}
