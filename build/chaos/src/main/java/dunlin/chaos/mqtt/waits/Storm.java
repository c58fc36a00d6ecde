package dunlin.chaos.mqtt.waits;

import dunlin.chaos.mqtt.MqttClient;
import dunlin.chaos.mqtt.MqttClient.Draft;
import dunlin.chaos.mqtt.Scene;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** A broker crashes, and all its durable sessions, each with waiting messages, reconnect at the same moment. */
public final class Storm {
  /*
   * Owner: the thread of the row; one virtual thread for each session while all reconnect.
   * Bounds: sessions are an option, 50 messages of 256 bytes for each; 64 connections at a time before the crash.
   */
  private static final int FOREVER = 86_400;
  private static final int MESSAGES = 50;
  private static final int BYTES = 256;
  private static final int PUBLISHERS = 4;
  private static final int AT_A_TIME = 64;
  private static final Duration GOAL = Duration.ofSeconds(30);
  private static final long CONNECT_GOAL_MILLIS = 5000;
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private Storm() {}

  public static void play(Scene scene) throws InterruptedException {
    var sessions = new ArrayList<MqttClient>();
    for (int i = 0; i < scene.stormSessions; i++) sessions.add(scene.client("storm-" + i, 5, FOREVER));
    prepare(sessions);
    fill(scene);
    scene.broker().kill();
    scene.broker().start();
    scene.healed();

    int from = scene.journal.size();
    long before = scene.journal.received();
    LongSupplier came = () -> scene.journal.received() - before;
    long began = System.nanoTime();
    var connected = returnAll(sessions);
    long all = (long) scene.stormSessions * MESSAGES;
    scene.await(GOAL.minusNanos(System.nanoTime() - began), () -> came.getAsLong() >= all);
    long inTime = came.getAsLong();
    scene.figures.put("sessions", String.valueOf(scene.stormSessions));
    scene.figures.put("messages within 30 s", "%d of %d".formatted(inTime, all));
    scene.await(PATIENCE, () -> came.getAsLong() >= all);
    long took = (System.nanoTime() - began) / 1_000_000;
    scene.figures.put("all after, ms", came.getAsLong() >= all ? String.valueOf(took) : "never: " + came.getAsLong());
    long p99 = percentile(connected, 99);
    long closed = scene.closedSince(from);
    scene.figures.put("CONNECT p50 and p99, ms", percentile(connected, 50) + " and " + p99);
    scene.figures.put("closed by the broker", String.valueOf(closed));
    scene.expect(came.getAsLong() >= all, "only %d of %d messages came".formatted(came.getAsLong(), all));
    scene.expect(connected.size() == scene.stormSessions, "%d sessions could not return".formatted(scene.stormSessions - connected.size()));
    scene.expect(inTime >= all, "%d of %d messages came within 30 s".formatted(inTime, all));
    scene.expect(p99 < CONNECT_GOAL_MILLIS, "CONNECT took %d ms (99 of 100 at most)".formatted(p99));
    scene.expect(closed == 0, "the broker closed %d connections".formatted(closed));
  }

  private static void prepare(List<MqttClient> sessions) throws InterruptedException {
    Scene.each(
        sessions, AT_A_TIME, PATIENCE,
        session -> {
          session.connect(true);
          session.subscribe("storm/" + session.id(), 1);
          session.disconnect();
          return true; // what was not possible shows in the messages that do not come
        });
  }

  private static void fill(Scene scene) throws InterruptedException {
    var done = new CountDownLatch(PUBLISHERS);
    for (int p = 0; p < PUBLISHERS; p++) {
      int first = p;
      var publisher = scene.client("filler-" + p, 5, 0);
      scene.expect(publisher.connect(true), "no connection");
      Thread.startVirtualThread(
          () -> {
            for (int n = 0; n < MESSAGES; n++)
              for (int i = first; i < scene.stormSessions; i += PUBLISHERS) publisher.publish(Draft.of("storm/storm-" + i, 1, BYTES));
            if (publisher.awaitAcknowledged(Duration.ofMinutes(2))) done.countDown();
          });
    }
    scene.expect(done.await(10, TimeUnit.MINUTES), "not all were acknowledged before the crash");
  }

  /** Reconnects all sessions; returns how long each CONNECT took, in milliseconds, sorted. */
  private static List<Long> returnAll(List<MqttClient> sessions) throws InterruptedException {
    var millis = new ArrayList<Long>();
    var done = new CountDownLatch(sessions.size());
    for (var session : sessions)
      Thread.startVirtualThread(
          () -> {
            long asked = System.nanoTime();
            if (session.connect(false)) {
              synchronized (millis) {
                millis.add((System.nanoTime() - asked) / 1_000_000);
              }
            }
            done.countDown();
          });
    done.await();
    synchronized (millis) {
      millis.sort(null);
      return List.copyOf(millis);
    }
  }

  static long percentile(List<Long> sorted, int percent) {
    return sorted.isEmpty() ? 0 : sorted.get(Math.min(sorted.size() - 1, sorted.size() * percent / 100));
  }
}
