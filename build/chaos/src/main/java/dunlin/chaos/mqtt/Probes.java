package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.MqttClient.Draft;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAccumulator;

/** Clients that each repeat one request almost without a pause: how long the longest one takes is what a fault costs clients. */
final class Probes implements AutoCloseable {
  /*
   * A client whose connection is lost goes to another broker at once, and its request goes on: what counts is the time over all attempts. A client that waits
   * for a broker that stands still or is cut off would measure its own patience; so these faults are not for probes.
   *
   * Owner: the thread of the row; each probe and each subscriber has a virtual thread.
   * Bounds: CLIENTS probes of each kind, with one request each.
   * Failure: a request that has no answer within SETTLE_MAX fails the row.
   */
  private static final int CLIENTS = 2;
  private static final int PAUSE_MILLIS = 20;
  private static final int AGAIN_MILLIS = 10;
  private static final int FOREVER = 86_400;
  private static final int BYTES = 64;
  private static final Duration ANSWER_MAX = Duration.ofMinutes(1);
  private static final Duration SETTLE_MAX = Duration.ofMinutes(2);

  /** What a probe asks for. */
  enum Kind {
    DURABLE("PUBACK, durable subscriber"),
    ONLINE("PUBACK, online subscriber"),
    CONNECT("CONNACK of a durable session"),
    SUBSCRIBE("SUBACK of a durable session");

    private final String answer;

    Kind(String answer) {
      this.answer = answer;
    }

    @Override
    public String toString() {
      return answer;
    }
  }

  /** A request that is repeated. */
  private interface Request {
    /** Makes one attempt; answers whether it was successful. */
    boolean attempt() throws InterruptedException;

    /** Undoes it, so that it can be repeated. */
    default void undo() {}
  }

  private final Scene scene;
  private final List<Probe> probes = new ArrayList<>();
  private final Map<Kind, LongAccumulator> longest = new EnumMap<>(Kind.class);
  private volatile boolean running = true;

  private Probes(Scene scene) {
    this.scene = scene;
  }

  /** Connects all clients, and waits until each request has been made once. */
  static Probes start(Scene scene) throws InterruptedException {
    var probes = new Probes(scene);
    probes.subscribe("probe-durable", FOREVER, "probe/durable");
    probes.subscribe("probe-online", 0, "probe/online");
    for (int i = 0; i < CLIENTS; i++) {
      probes.add(Kind.DURABLE, probes.publishing("probe-pub-durable-" + i, "probe/durable"));
      probes.add(Kind.ONLINE, probes.publishing("probe-pub-online-" + i, "probe/online"));
      probes.add(Kind.CONNECT, probes.connecting("probe-connect-" + i));
      probes.add(Kind.SUBSCRIBE, probes.subscribing("probe-subscribe-" + i));
    }
    probes.since(System.nanoTime());
    return probes;
  }

  /** Waits until each probe has had an answer to a request that it began after this time; the longest time for each kind since the last call, in milliseconds. */
  Map<Kind, Long> since(long nanos) throws InterruptedException {
    boolean settled = scene.await(SETTLE_MAX, () -> probes.stream().allMatch(probe -> probe.answered - nanos >= 0));
    scene.expect(settled, "not all probes were answered within " + SETTLE_MAX);
    var millis = new EnumMap<Kind, Long>(Kind.class);
    longest.forEach((kind, each) -> millis.put(kind, each.getThenReset() / 1_000_000));
    return millis;
  }

  private void add(Kind kind, Request request) {
    var probe = new Probe(longest.computeIfAbsent(kind, _ -> new LongAccumulator(Math::max, 0)), request);
    probes.add(probe);
    Thread.startVirtualThread(probe::run);
  }

  /** Keeps a subscriber connected. */
  private void subscribe(String id, int expirySeconds, String filter) throws InterruptedException {
    var client = scene.client(id, 5, expirySeconds);
    while (!client.connect(true) || !client.subscribe(filter, 1)) Thread.sleep(AGAIN_MILLIS);
    Thread.startVirtualThread(
        () -> {
          try {
            while (running) {
              if (!client.connected() && client.connect(false) && client.online()) client.subscribe(filter, 1);
              Thread.sleep(AGAIN_MILLIS);
            }
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
  }

  private Request publishing(String id, String topic) {
    var client = scene.client(id, 5, FOREVER);
    return () -> {
      if (!client.connected() && !client.connect(false)) return false;
      // What is not acknowledged was sent again with the new connection.
      if (client.unacknowledged() == 0 && client.publish(Draft.of(topic, 1, BYTES)) < 0) return false;
      return client.awaitAcknowledged(ANSWER_MAX);
    };
  }

  private Request connecting(String id) {
    var client = scene.client(id, 5, FOREVER);
    return new Request() {
      @Override
      public boolean attempt() {
        return client.connect(false);
      }

      @Override
      public void undo() {
        client.disconnect();
      }
    };
  }

  private Request subscribing(String id) {
    var client = scene.client(id, 5, FOREVER);
    String filter = "probe/subscribe/" + id;
    return new Request() {
      @Override
      public boolean attempt() {
        return (client.connected() || client.connect(false)) && client.subscribe(filter, 1);
      }

      @Override
      public void undo() {
        client.unsubscribe(filter);
      }
    };
  }

  /** One client with its request. */
  private final class Probe {
    private final LongAccumulator longest;
    private final Request request;

    /** When the last request began that was successful. */
    private volatile long answered = Long.MIN_VALUE;

    private Probe(LongAccumulator longest, Request request) {
      this.longest = longest;
      this.request = request;
    }

    private void run() {
      try {
        while (running) {
          long began = System.nanoTime();
          while (!request.attempt()) {
            if (!running) return;
            Thread.sleep(AGAIN_MILLIS);
          }
          longest.accumulate(System.nanoTime() - began);
          answered = began;
          request.undo();
          Thread.sleep(ThreadLocalRandom.current().nextInt(1, 2 * PAUSE_MILLIS));
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    running = false;
  }
}
