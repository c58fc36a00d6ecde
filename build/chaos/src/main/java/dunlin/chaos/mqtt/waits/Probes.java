package dunlin.chaos.mqtt.waits;

import dunlin.chaos.mqtt.MqttClient;
import dunlin.chaos.mqtt.MqttClient.Draft;
import dunlin.chaos.mqtt.Scene;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/** Clients that each repeat one request almost without a pause: how long the longest one takes is what a fault costs clients. */
public final class Probes implements AutoCloseable {
  /*
   * A client whose connection is lost goes to another broker at once, and its request goes on: what counts is the time over all attempts. A client that waits
   * for a broker that stands still or is cut off would measure its own patience; so these faults are not for probes.
   *
   * Owner: the thread of the row; each probe and each subscriber has a virtual thread.
   * Bounds: CLIENTS probes of each kind, with one request each.
   * Failure: a request that has no answer within SETTLE_MAX fails the row.
   */
  public static final String NEVER_FLAPPING = "dunlin.flapping.connects-max";

  /** The clients that connect again and again are not blocked for it. */
  public static final Map<String, String> SETTINGS = Map.of(NEVER_FLAPPING, "0");

  private static final int CLIENTS = 2;
  private static final int PAUSE_MILLIS = 20;
  private static final int AGAIN_MILLIS = 10;
  private static final int FOREVER = 86_400;
  private static final int BYTES = 64;
  /** How long a publisher may wait during a step. */
  private static final long STEP_GAP_MAX_MILLIS = 1_000;
  /** For what follows a step. */
  private static final int QUIET_MILLIS = 5_000;

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

  /** Makes a client, which is closed with the row. */
  interface Clients {
    MqttClient make(String id, int expirySeconds);
  }

  /** How long the requests of a kind took. Any thread. */
  private static final class Waits {
    private List<Long> millis = new ArrayList<>();

    private synchronized void add(long nanos) {
      millis.add(nanos / 1_000_000);
    }

    private synchronized List<Long> take() {
      var taken = millis;
      millis = new ArrayList<>();
      return taken;
    }
  }

  /** A request that is repeated. */
  private interface Request {
    /** Makes one attempt; answers whether it was successful. */
    boolean attempt() throws InterruptedException;

    /** Undoes it, so that it can be repeated. */
    default void undo() {}
  }

  /** Something that is done to a cluster, until it has come to its end. */
  public interface Step {
    void take() throws InterruptedException;
  }

  private final Scene scene;
  private final Clients clients;
  private final List<Probe> probes = new ArrayList<>();
  private final Map<Kind, Waits> waits = new EnumMap<>(Kind.class);
  private volatile boolean running = true;

  private Probes(Scene scene, Clients clients) {
    this.scene = scene;
    this.clients = clients;
  }

  /** Connects all clients, each time to any broker, and waits until each request has been made once. */
  public static Probes start(Scene scene) throws InterruptedException {
    return start(scene, (id, expirySeconds) -> scene.client(id, 5, expirySeconds));
  }

  /** The same with clients that the caller makes. */
  static Probes start(Scene scene, Clients clients) throws InterruptedException {
    var probes = new Probes(scene, clients);
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
    var longest = new EnumMap<Kind, Long>(Kind.class);
    allSince(nanos).forEach((kind, millis) -> longest.put(kind, millis.isEmpty() ? 0 : millis.getLast()));
    return longest;
  }

  /** The same, with the times of all requests, sorted. */
  Map<Kind, List<Long>> allSince(long nanos) throws InterruptedException {
    boolean settled = scene.await(SETTLE_MAX, () -> probes.stream().allMatch(probe -> probe.answered - nanos >= 0));
    scene.expect(settled, "not all probes were answered within " + SETTLE_MAX);
    var all = new EnumMap<Kind, List<Long>>(Kind.class);
    waits.forEach((kind, each) -> all.put(kind, each.take().stream().sorted().toList()));
    return all;
  }

  /** Takes a step: one event of the history, and one line of the figures with the longest waits. Publishers must be answered within STEP_GAP_MAX_MILLIS. */
  public void step(String name, Step step) throws InterruptedException {
    scene.struck(name);
    since(System.nanoTime());
    long began = System.nanoTime();
    step.take();
    scene.during(QUIET_MILLIS);
    var longest = since(System.nanoTime());
    scene.figures.put(name + ": seconds; longest wait, ms", "%,d; %s".formatted((System.nanoTime() - began) / 1_000_000_000, longest));
    for (var kind : List.of(Kind.DURABLE, Kind.ONLINE)) {
      long waited = longest.getOrDefault(kind, 0L);
      scene.expect(waited <= STEP_GAP_MAX_MILLIS, "%s: %s took %,d ms, %,d at most are wanted".formatted(name, kind, waited, STEP_GAP_MAX_MILLIS));
    }
    scene.healed();
  }

  private void add(Kind kind, Request request) {
    var probe = new Probe(waits.computeIfAbsent(kind, _ -> new Waits()), request);
    probes.add(probe);
    Thread.startVirtualThread(probe::run);
  }

  /** Keeps a subscriber connected. */
  private void subscribe(String id, int expirySeconds, String filter) throws InterruptedException {
    var client = clients.make(id, expirySeconds);
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
    var client = clients.make(id, FOREVER);
    return () -> {
      if (!client.connected() && !client.connect(false)) return false;
      // What is not acknowledged was sent again with the new connection.
      if (client.unacknowledged() == 0 && client.publish(Draft.of(topic, 1, BYTES)) < 0) return false;
      return client.awaitAcknowledged(ANSWER_MAX);
    };
  }

  private Request connecting(String id) {
    var client = clients.make(id, FOREVER);
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
    var client = clients.make(id, FOREVER);
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
    private final Waits waits;
    private final Request request;

    /** When the last request began that was successful. */
    private volatile long answered = Long.MIN_VALUE;

    private Probe(Waits waits, Request request) {
      this.waits = waits;
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
          waits.add(System.nanoTime() - began);
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
