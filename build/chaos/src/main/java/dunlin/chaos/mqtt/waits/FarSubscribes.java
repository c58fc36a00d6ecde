package dunlin.chaos.mqtt.waits;

import dunlin.chaos.mqtt.Entrance;
import dunlin.chaos.mqtt.MqttClient;
import dunlin.chaos.mqtt.MqttClient.Draft;
import dunlin.chaos.mqtt.MqttCluster;
import dunlin.chaos.mqtt.Scene;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Brokers that are far from each other: how long a SUBSCRIBE takes that one client sends, and 1,000 clients at once. */
final class FarSubscribes {
  /*
   * All clients are near one broker, and the routes are led by another. A SUBSCRIBE then needs two round trips: to the leader, and from there to a follower. All filters have
   * the same first levels, so brokers that lock what filters share would need a thousand times as long for a thousand.
   *
   * Owner: the thread of the row; a virtual thread for each client while all subscribe.
   * Bounds: CLIENTS connections, each with one filter for each wave.
   */
  private static final int CLIENTS = 1_000;
  private static final int CONNECT_AT_A_TIME = 32;
  private static final int ONE_WAY_MILLIS = 80;
  private static final int ROUND_TRIPS = 2;
  private static final long ONE_MAX_MILLIS = ROUND_TRIPS * 2 * ONE_WAY_MILLIS + 50;

  /** How many times as long as one client's SUBSCRIBE those of all may take, in percent. */
  private static final long ALL_MAX_PERCENT = 150;

  private static final int WARM_UP_WAVES = 30;
  private static final int WAVES = 5;
  private static final long SETTLE_MILLIS = 3_000;
  private static final Duration WITHIN = Duration.ofMinutes(2);

  private final Scene scene;
  private final List<MqttClient> clients = new ArrayList<>();
  private int wave;

  private FarSubscribes(Scene scene) {
    this.scene = scene;
  }

  static void play(Scene scene) throws InterruptedException {
    new FarSubscribes(scene).play();
  }

  private void play() throws InterruptedException {
    var cluster = scene.cluster();
    var leaders = cluster.leaders();
    var entrance = cluster.entrance(cluster.nodes().stream().filter(node -> node.leads().stream().noneMatch(MqttCluster::isRoutes)).findFirst().orElseThrow());
    for (int i = 0; i < CLIENTS; i++) clients.add(scene.client("far-" + i, 5, 0, entrance));
    long left = Scene.each(clients, CONNECT_AT_A_TIME, WITHIN, client -> client.connect(true));
    scene.expect(left == 0, left + " clients could not connect");
    for (int i = 0; i < WARM_UP_WAVES; i++) subscribe(clients);

    cluster.links().slowNodes(ONE_WAY_MILLIS);
    scene.struck("the brokers are far from each other");
    scene.during(SETTLE_MILLIS);
    long one = measure("SUBACK of one client, ms", List.of(clients.getFirst()));
    long all = measure("SUBACK of the last of 1,000 clients, ms", clients);
    scene.expect(one <= ONE_MAX_MILLIS, "SUBACK took %,d ms, %,d are wanted at most".formatted(one, ONE_MAX_MILLIS));
    scene.expect(all * 100 <= one * ALL_MAX_PERCENT, "the SUBACKs of all took %,d ms, %,d are wanted at most".formatted(all, one * ALL_MAX_PERCENT / 100));
    scene.expect(cluster.leaders().equals(leaders), "a range is led by another broker now");
    cluster.links().heal();
    scene.healed();
    publish(entrance);
  }

  /** Subscribes several times; answers the median in milliseconds. */
  private long measure(String what, List<MqttClient> those) throws InterruptedException {
    var millis = new ArrayList<Long>();
    for (int i = 0; i < WAVES; i++) millis.add(subscribe(those));
    millis.sort(null);
    long median = Storm.percentile(millis, 50);
    scene.figures.put(what, "median %,d, longest %,d".formatted(median, millis.getLast()));
    return median;
  }

  /** Has each of these clients subscribe to one more filter, all at once; answers how long it took until the last one had its SUBACK. */
  private long subscribe(List<MqttClient> those) throws InterruptedException {
    int now = wave++;
    long began = System.nanoTime();
    long left = Scene.each(those, those.size(), WITHIN, client -> client.subscribe("far/+/%d/%s/+/#".formatted(now, client.id()), 1));
    long took = (System.nanoTime() - began) / 1_000_000;
    scene.expect(left == 0, left + " clients have no SUBACK");
    return took;
  }

  /** Each client gets a message by the filter of the last wave; the checker looks for them. */
  private void publish(Entrance entrance) throws InterruptedException {
    var publisher = scene.client("far-publisher", 5, 0, entrance);
    scene.expect(publisher.connect(true), "the publisher cannot connect");
    for (var client : clients) publisher.publish(Draft.of("far/a/%d/%s/b/c".formatted(wave - 1, client.id()), 1, 64));
    scene.expect(publisher.awaitAcknowledged(WITHIN), "not all messages were acknowledged");
  }
}
