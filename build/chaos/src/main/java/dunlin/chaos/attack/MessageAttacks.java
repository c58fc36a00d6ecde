package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import dunlin.chaos.mqtt.check.Packet;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Attacks with messages that stay: for subscribers that do not take them, as retained messages, and in inboxes. */
final class MessageAttacks {
  private static final int SILENT_SUBSCRIBERS = 30;
  private static final int SILENT_BYTES = 150_000;
  private static final int SILENT_MESSAGES = 1_634;
  private static final int LONG_TOPIC = 65_000;
  private static final int LONG_TOPICS = 3_501;
  private static final int RETAINED_BYTES = 100_000;
  private static final long RETAINED_BYTES_PER_SECOND = 78_000_000;
  private static final int SESSIONS = 205_000;
  private static final int CLIENT_ID = 1_024;
  private static final int AT_A_TIME = 32;
  private static final int DURABLE_PUBLISHERS = 4;
  private static final int DURABLE_BYTES = 900_000;
  private static final int WINDOW = 8;
  private static final int FOREVER = 0x7FFF_FFFF;

  static final List<Attack> ALL =
      List.of(
          Attack.of("silent-subscribers", "30 subscribers that acknowledge nothing, half of which do not read; 245 MB in messages of 150 KB", MessageAttacks::silent),
          Attack.of("retained-long-topics", "3,501 retained messages of a byte on topics of 65,000 bytes", MessageAttacks::longTopics),
          Attack.of("retained-flood", "retained messages of 100 KB on ever new topics, 78 MB/s", MessageAttacks::retainedFlood),
          Attack.of("durable-sessions", "205,000 durable sessions with client identifiers of 1,024 bytes", MessageAttacks::sessions),
          Attack.of("large-durable", "4 publishers of QoS 1 messages of 900 KB to a durable session, 8 in flight each", MessageAttacks::largeDurable));

  private MessageAttacks() {}

  private static void silent(Assault assault) throws InterruptedException {
    for (int i = 0; i < SILENT_SUBSCRIBERS; i++) {
      var subscriber = assault.client("silent-" + i, Manner.SILENT);
      assault.subscribe(subscriber, List.of("silent"), 1, 1);
      if (i % 2 == 1) subscriber.become(Manner.DEAF);
    }
    publish(assault, 4, SILENT_MESSAGES, WINDOW, _ -> "silent", false, SILENT_BYTES, Long.MAX_VALUE);
    assault.untilOver();
  }

  private static void longTopics(Assault assault) throws InterruptedException {
    publish(assault, 4, LONG_TOPICS, WINDOW, number -> SubscriptionAttacks.padded("long/" + number + "/", LONG_TOPIC), true, 1, Long.MAX_VALUE);
    assault.untilOver();
  }

  private static void retainedFlood(Assault assault) throws InterruptedException {
    publish(assault, 4, Integer.MAX_VALUE, 64, number -> "flood/" + number, true, RETAINED_BYTES, RETAINED_BYTES_PER_SECOND);
  }

  private static void largeDurable(Assault assault) throws InterruptedException {
    var durable = assault.open(Manner.POLITE);
    assault.answered("connected", durable.connect("large-durable", true, FOREVER));
    assault.subscribe(durable, List.of("large/#"), 1, 1);
    publish(assault, DURABLE_PUBLISHERS, Integer.MAX_VALUE, WINDOW, number -> "large/" + number % DURABLE_PUBLISHERS, false, DURABLE_BYTES, Long.MAX_VALUE);
  }

  private interface Topic {
    String of(int number);
  }

  /** Publishes with QoS 1 as fast as possible, with a number of messages and a window for each publisher. */
  private static void publish(
      Assault assault, int publishers, int messages, int window, Topic topic, boolean retain, int bytes, long bytesPerSecond)
      throws InterruptedException {
    var next = new AtomicInteger();
    long began = System.nanoTime();
    Assault.inParallel(
        publishers,
        publisher -> {
          var client = assault.client("publisher-" + publisher, Manner.POLITE);
          var inFlight = new Semaphore(window);
          Thread.startVirtualThread(() -> acknowledged(assault, client, inFlight));
          while (!assault.over() && !client.ended()) {
            int number = next.getAndIncrement();
            if (number >= messages) break;
            long due = began + (long) ((double) number * bytes / bytesPerSecond * 1e9);
            TimeUnit.NANOSECONDS.sleep(Math.max(0, due - System.nanoTime()));
            if (!acquired(assault, client, inFlight)) break;
            if (!client.send(Assault.publish(topic.of(number), client.nextPacketId(), 1, retain, bytes))) break;
            assault.count("sent", 1);
          }
        });
  }

  private static boolean acquired(Assault assault, Attacker client, Semaphore inFlight) throws InterruptedException {
    while (!assault.over() && !client.ended()) if (inFlight.tryAcquire(100, TimeUnit.MILLISECONDS)) return true;
    return false;
  }

  private static void acknowledged(Assault assault, Attacker client, Semaphore inFlight) {
    try {
      while (true) {
        var answer = client.answer(1000);
        if (answer == null && client.ended()) break;
        if (answer == null) continue;
        assault.answered("acknowledged", answer.reason());
        if (answer.type() == Packet.PUBACK) inFlight.release();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void sessions(Assault assault) throws InterruptedException {
    var next = new AtomicInteger();
    Assault.inParallel(
        AT_A_TIME,
        _ -> {
          for (int number; (number = next.getAndIncrement()) < SESSIONS && !assault.over(); ) {
            try (var client = Attacker.open(assault.port(), Manner.DEAF)) {
              assault.answered("sessions", client.connect(SubscriptionAttacks.padded("session-" + number + "-", CLIENT_ID), true, FOREVER));
            }
          }
        });
  }
}
