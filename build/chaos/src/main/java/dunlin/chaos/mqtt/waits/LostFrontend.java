package dunlin.chaos.mqtt.waits;

import dunlin.chaos.mqtt.Entrance;
import dunlin.chaos.mqtt.MqttClient;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.waits.Probes.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A frontend dies with very many clients, whose sessions end and whose wills are sent: what that costs the clients of another frontend. */
final class LostFrontend {
  /*
   * The frontend that dies leads no range, so what others notice is the clean-up alone.
   *
   * Owner: the thread of the row; a virtual thread for each client while they connect, AT_A_TIME of which do.
   * Bounds: CLIENTS connections, which with the broker's own stay below what a process may open.
   */
  private static final int CLIENTS = 10_000;
  private static final int AT_A_TIME = 32;
  private static final int EXPIRY_SECONDS = 3_600;

  /** How many times as long SUBSCRIBE may take at the 99th percentile. */
  private static final int SLOWER_MAX = 3;

  private static final String OBSERVER = "lost-observer";

  /** After the last will, for one that comes twice. */
  private static final long TWICE_MILLIS = 20_000;

  private static final long QUIET_MILLIS = 15_000;
  private static final Duration WILLS_MAX = Duration.ofMinutes(3);
  private static final Duration CONNECTED_WITHIN = Duration.ofMinutes(5);

  /** An observer's inbox has room for all wills. */
  static final Map<String, String> SETTINGS = Map.of("dunlin.inbox.messages-max", String.valueOf(2 * CLIENTS), Probes.NEVER_FLAPPING, "0");

  private LostFrontend() {}

  static void play(Scene scene) throws InterruptedException {
    var frontends = scene.cluster().nodes().stream().filter(Node::isFrontend).toList();
    var dies = frontends.getLast();
    var stays = scene.cluster().entrance(frontends.getFirst());
    var observer = scene.client(OBSERVER, 5, EXPIRY_SECONDS, stays);
    scene.expect(observer.connect(true) && observer.subscribe("lost/#", 2), "the observer cannot subscribe");
    connect(scene, scene.cluster().entrance(dies));

    try (var probes = Probes.start(scene, (id, expirySeconds) -> scene.client(id, 5, expirySeconds, stays))) {
      scene.during(QUIET_MILLIS);
      var before = probes.allSince(System.nanoTime());
      scene.struck(dies);
      long struck = System.nanoTime();
      dies.kill();
      boolean all = scene.await(WILLS_MAX, () -> observer.seen().size() >= CLIENTS);
      scene.figures.put("all wills after, ms", all ? "%,d".formatted((System.nanoTime() - struck) / 1_000_000) : "never: " + observer.seen().size());
      scene.expect(all, "%d of %d wills came within %s".formatted(observer.seen().size(), CLIENTS, WILLS_MAX));
      var after = probes.allSince(System.nanoTime());
      scene.healed();
      scene.during(TWICE_MILLIS);
      long wills = scene.received(OBSERVER);
      scene.figures.put("wills", String.valueOf(wills));
      scene.expect(wills == CLIENTS, "the observer got %,d wills of %,d clients".formatted(wills, CLIENTS));
      for (var kind : Kind.values()) {
        scene.figures.put(kind + ", ms", "before: %s; after: %s".formatted(text(before, kind), text(after, kind)));
      }
      long slower = percentile(after, Kind.SUBSCRIBE, 99);
      long most = SLOWER_MAX * percentile(before, Kind.SUBSCRIBE, 99);
      scene.expect(slower <= most, "SUBACK took %,d ms at the 99th percentile, %,d are wanted at most".formatted(slower, most));
    }
  }

  private static void connect(Scene scene, Entrance entrance) throws InterruptedException {
    var clients = new ArrayList<MqttClient>();
    for (int i = 0; i < CLIENTS; i++) clients.add(scene.client("lost-" + i, 5, EXPIRY_SECONDS, entrance));
    long left =
        Scene.each(
            clients, AT_A_TIME, CONNECTED_WITHIN, client -> client.connectWithWill(true, "lost/" + client.id(), 0) && client.subscribe("own/" + client.id(), 1));
    scene.expect(left == 0, left + " clients could not connect and subscribe");
  }

  private static String text(Map<Kind, List<Long>> times, Kind kind) {
    return "%,d at p50, %,d at p99, %,d at most".formatted(percentile(times, kind, 50), percentile(times, kind, 99), percentile(times, kind, 100));
  }

  private static long percentile(Map<Kind, List<Long>> times, Kind kind, int percent) {
    return Storm.percentile(times.getOrDefault(kind, List.of()), percent);
  }
}
