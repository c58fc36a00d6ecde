package dunlin.chaos.mqtt.rows;

import dunlin.chaos.Need;
import dunlin.chaos.mqtt.MqttClient;
import dunlin.chaos.mqtt.MqttClient.Draft;
import dunlin.chaos.mqtt.MqttClient.Taking;
import dunlin.chaos.mqtt.Row;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.waits.GapRows;
import dunlin.chaos.mqtt.waits.Storm;
import dunlin.chaos.mqtt.waits.UpgradeRows;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** All rows, in the order of the table. */
final class Rows {
  private static final long MIB = 1024 * 1024;
  private static final int FOREVER = 86_400;
  private static final Duration LONG = Duration.ofMinutes(1);

  private static final List<Row> ONE =
      List.of(
          usual("none", "nothing happens", scene -> scene.during(5000L * scene.rounds)),
          usual("kill", "kill -9 of the broker", Rows::kill),
          usual("pause", "SIGSTOP for 5 s", Rows::pause),
          fsync(20),
          fsync(50),
          fsync(300),
          new Row("disk-low", "little room on the disk for 5 s, and then more", Set.of(Need.DISK),
              Map.of("dunlin.store.disk-free-min", "64MiB"), Form.USUAL, Rows::diskLow),
          new Row("power", "loss of power", Set.of(Need.DISK, Need.FSYNC), Map.of(), Form.USUAL, Rows::power),
          own("overflow", "an absent session's inbox is full: each drop is counted", Map.of("dunlin.inbox.messages-max", "50"), Rows::overflow),
          own("group-stalled", "members of a group that acknowledge nothing, with messages of 900 KB", Map.of(), Rows::groupStalled),
          own("will-refused", "a full inbox refuses wills",
              Map.of("dunlin.inbox.messages-max", "10", "dunlin.inbox.overflow", "reject"), Rows::willRefused),
          own("deaf", "20 durable sessions do not read, QoS 0 is published as fast as it goes", Map.of(), Rows::deaf),
          own("storm", "kill -9, and all sessions with waiting messages return at once", Map.of(), Storm::play));

  static final List<Row> ALL = Stream.of(ONE, ClusterRows.ALL, ServiceRows.ALL, SplitRows.ALL, UpgradeRows.ALL, GapRows.ALL).flatMap(List::stream).toList();

  private Rows() {}

  private static Row usual(String name, String what, Script script) {
    return new Row(name, what, Set.of(), Map.of(), Form.USUAL, script);
  }

  private static Row own(String name, String what, Map<String, String> settings, Script script) {
    return new Row(name, what, Set.of(), settings, Form.OWN, script);
  }

  private static Row fsync(int millis) {
    return new Row(
        "fsync-" + millis, "each fsync takes %d ms longer, for 5 s".formatted(millis), Set.of(Need.FSYNC), Map.of(), Form.USUAL,
        scene -> {
          for (int round = 0; round < scene.rounds; round++) {
            scene.during(1000);
            int from = scene.journal.size();
            scene.struck();
            scene.broker().steeredFsync().slow(millis);
            scene.during(5000);
            scene.broker().steeredFsync().none();
            scene.answersAgain();
            scene.healed();
            long closed = scene.closedSince(from);
            scene.expect(closed == 0, "the broker closed %d connections".formatted(closed));
          }
        });
  }

  private static void kill(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(scene.random.nextInt(500, 3000));
      scene.killAndStart();
    }
  }

  private static void pause(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(1000);
      scene.struck();
      scene.broker().signal("STOP");
      Thread.sleep(5000);
      scene.broker().signal("CONT");
      scene.answersAgain();
      scene.healed();
    }
  }

  private static void diskLow(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(1000);
      scene.struck();
      scene.ownDisk().fill(40 * MIB);
      scene.during(5000);
      scene.ownDisk().empty();
      scene.answersAgain();
      scene.healed();
    }
  }

  private static void power(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      // Only messages in flight at the power loss can be lost.
      scene.broker().steeredFsync().slow(20);
      scene.during(scene.random.nextInt(1000, 3000));
      scene.journal.broker(Event.Deed.KILLED, 0, "power");
      scene.ownDisk().cutPower();
      scene.broker().kill();
      scene.broker().steeredFsync().none();
      scene.ownDisk().restorePower();
      scene.startAgain();
    }
  }

  private static void overflow(Scene scene) throws InterruptedException {
    var absent = scene.client("absent", 5, FOREVER);
    var publisher = scene.client("publisher", 5, 0);
    if (!absent.connect(true) || !absent.subscribe("o/#", 1) || !publisher.connect(true)) scene.problem("no connection");
    absent.disconnect();
    for (int i = 0; i < 200; i++) publisher.publish(Draft.of("o/1", 1, 100));
    scene.expect(publisher.awaitAcknowledged(LONG), "not all were acknowledged");
    long drops = scene.broker().drops().inboxes();
    scene.expect(drops == 150, "%d drops were counted, and 150 messages had no room".formatted(drops));
    scene.expect(absent.connect(false), "cannot come back");
    boolean all = scene.await(LONG, () -> scene.received("absent") == 50);
    scene.expect(all, "of 50 messages %d came".formatted(scene.received("absent")));
  }

  private static void groupStalled(Scene scene) throws InterruptedException {
    var members = new ArrayList<MqttClient>();
    for (int i = 0; i < 4; i++) {
      var member = scene.client("member-" + i, 5, 0);
      member.take(Taking.NEVER);
      scene.expect(member.connect(true) && member.subscribe("$share/g/big/#", 1), "a member cannot subscribe");
      members.add(member);
    }
    var feeder = scene.client("feeder", 5, 0);
    var other = scene.client("other", 5, 0);
    var listener = scene.client("listener", 5, FOREVER);
    scene.expect(feeder.connect(true) && other.connect(true) && listener.connect(true) && listener.subscribe("small/#", 1), "no connection");
    // A group waits for 5 s; its members' queues hold about 16 MiB each.
    var feeding = Thread.startVirtualThread(() -> {
      for (int i = 0; i < 130; i++) feeder.publish(Draft.of("big/1", 1, 900_000));
    });
    scene.during(8000);
    var before = scene.broker().processorTime();
    scene.during(5000);
    long busy = scene.broker().processorTime().minus(before).toMillis() / 50;
    scene.figures.put("processor while stalled, % of one core", String.valueOf(busy));
    scene.expect(busy < 50, "the broker takes %d %% of a core while nothing can move".formatted(busy));
    for (int i = 0; i < 100; i++) other.publish(Draft.of("small/1", 1, 100));
    scene.expect(other.awaitAcknowledged(Duration.ofSeconds(15)), "another publisher waits for the stalled group");
    scene.expect(scene.await(LONG, () -> scene.received("listener") == 100), "another subscriber waits for the stalled group");
    members.forEach(MqttClient::close);
    feeding.join(LONG);
  }

  private static void willRefused(Scene scene) throws InterruptedException {
    var full = scene.client("full", 5, FOREVER);
    var observer = scene.client("observer", 5, FOREVER);
    var publisher = scene.client("publisher", 5, 0);
    scene.expect(full.connect(true) && full.subscribe("x/#", 1) && full.subscribe("w/refused/#", 1), "no connection");
    full.disconnect();
    scene.expect(observer.connect(true) && observer.subscribe("w/#", 2) && publisher.connect(true), "no connection");
    for (int i = 0; i < 10; i++) publisher.publish(Draft.of("x/1", 1, 100));
    scene.expect(publisher.awaitAcknowledged(LONG), "the inbox cannot be filled");
    for (int i = 0; i < 70; i++) {
      var dying = scene.client("dying-" + i, 5, FOREVER);
      scene.expect(dying.connectWithWill(true, "w/refused/" + i, 0), "no connection");
      dying.abandon();
    }
    var last = scene.client("last", 5, FOREVER);
    scene.expect(last.connectWithWill(true, "w/good", 0), "no connection");
    last.abandon();
    boolean came = scene.await(LONG, () -> observer.seen().contains("w/good"));
    scene.expect(came, "wills that are refused stop another one");
    // Longer than the time after which a failed will is retried.
    scene.during(22_000);
    long wills = scene.received("observer");
    scene.figures.put("wills of 71 at the observer", String.valueOf(wills));
    scene.expect(wills <= 71, "the observer got %d wills of 71".formatted(wills));
    scene.expect(full.connect(false), "cannot come back");
  }

  private static void deaf(Scene scene) throws InterruptedException {
    for (int i = 0; i < 20; i++) {
      var session = scene.client("deaf-" + i, 5, FOREVER);
      scene.expect(session.connect(true) && session.subscribe("flood/#", 0), "no connection");
      session.take(Taking.DEAF);
    }
    var flood = scene.client("flood", 5, 0);
    var other = scene.client("other", 5, 0);
    scene.expect(flood.connect(true) && other.connect(true), "no connection");
    var flooding = Thread.startVirtualThread(() -> {
      long end = System.nanoTime() + Duration.ofSeconds(15).toNanos();
      while (System.nanoTime() < end && flood.publish(Draft.of("flood/1", 0, 4000)) >= 0) Thread.onSpinWait();
    });
    for (int second = 0; second < 15; second++) {
      other.publish(Draft.of("calm/1", 1, 100));
      scene.during(1000);
    }
    scene.expect(flooding.join(LONG), "the flood has not come to its end");
    scene.expect(other.awaitAcknowledged(Duration.ofSeconds(15)), "another publisher is not answered");
  }
}
