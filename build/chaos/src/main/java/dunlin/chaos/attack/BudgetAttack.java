package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import dunlin.chaos.mqtt.check.Packet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Uses up all budgets of a node at once. Each by itself leaves room; together they are more than the heap by their defaults. */
final class BudgetAttack {
  /*
   * What was taken stays until the end of the row: sessions and their subscriptions and open exchanges, subscriptions of clients that are connected, retained topics,
   * and messages for clients that acknowledge nothing. One that takes what it is sent must get small messages, however full the heap is.
   */

  /** What was stored fills most of the heap, and is read again. */
  private static final Duration START_MAX = Duration.ofMinutes(1);

  private static final int FOREVER = 0x7FFF_FFFF;
  private static final int PARTS = 8;
  private static final int FILTERS_OF_ONE = 10_000;
  private static final int FILTERS_IN_ONE = 1_000;
  private static final int DURABLE = 48;
  private static final int CONNECTED = 24;
  private static final int EXCHANGING = 160;
  private static final int EXCHANGES_OF_ONE = 1_000;
  private static final int RETAINED = 200_000;
  private static final int TOPIC = 200;
  private static final int WINDOW = 1_000;
  private static final int SILENT = 40;
  private static final int SILENT_MESSAGES = 60;
  private static final int SILENT_BYTES = 50_000;
  private static final int FAIR_MESSAGES = 20;
  private static final int FAIR_BYTES = 1_500;
  private static final int QUOTA_EXCEEDED = 0x97;

  static final List<Attack> ALL =
      List.of(
          new Attack(
              "all-budgets",
              "480,000 subscriptions of 48 absent sessions, 240,000 of 24 connected clients, 160,000 open QoS 2 exchanges, 200,000 retained topics, and 120 MB for 40 clients that acknowledge nothing",
              START_MAX, "", "The heap is full", BudgetAttack::play));

  private BudgetAttack() {}

  private static void play(Assault assault) throws InterruptedException {
    var taking = assault.client("fair", Manner.POLITE);
    assault.subscribe(taking, List.of("fair"), 1, 1);
    inTurn(assault, DURABLE, number -> absent(assault, number));
    inTurn(assault, CONNECTED, number -> subscribe(assault, assault.client("connected-" + number, Manner.POLITE), "connected/" + number));
    inTurn(assault, EXCHANGING, number -> exchange(assault, number));
    inTurn(assault, PARTS, number -> retain(assault, number));
    inTurn(assault, SILENT, number -> send(assault, number));
    if (!assault.isRefused(QUOTA_EXCEEDED)) assault.problem("nothing was refused");
    fair(assault, taking);
    assault.untilOver();
  }

  /** One message at a time: when others hold all, no more is left for a client than a small one. */
  private static void fair(Assault assault, Attacker taking) throws InterruptedException {
    var publisher = assault.client("fair-publisher", Manner.POLITE);
    int sent = 0;
    while (sent < FAIR_MESSAGES && !assault.over()) {
      sent++;
      publisher.send(Assault.publish("fair", publisher.nextPacketId(), 1, false, FAIR_BYTES));
      answers(assault, publisher, 1, "fair");
      for (int i = 0; i < 100 && taking.messages() < sent; i++) Thread.sleep(50);
    }
    if (taking.messages() < FAIR_MESSAGES) assault.problem("a client that acknowledges got %d messages of %d, and %d were to come".formatted(taking.messages(), sent, FAIR_MESSAGES));
  }

  private static void inTurn(Assault assault, int count, Assault.Part part) throws InterruptedException {
    var next = new AtomicInteger();
    Assault.inParallel(
        PARTS,
        _ -> {
          for (int number; (number = next.getAndIncrement()) < count && !assault.over(); ) part.play(number);
        });
  }

  /** A client with a durable session; empty when that was refused. */
  private static Optional<Attacker> durable(Assault assault, String id) {
    var client = assault.open(Manner.SILENT);
    int reason = client.connect(id, true, FOREVER);
    assault.answered("connected", reason);
    if (reason == 0) return Optional.of(client);
    client.close();
    return Optional.empty();
  }

  /** A session that is there without its client, so its subscriptions are in no budget of connected clients. */
  private static void absent(Assault assault, int number) throws InterruptedException {
    var client = durable(assault, "durable-" + number);
    if (client.isEmpty()) return;
    subscribe(assault, client.get(), "durable/" + number);
    client.get().send(Packet.disconnect());
  }

  private static void subscribe(Assault assault, Attacker client, String prefix) throws InterruptedException {
    var filters = new ArrayList<String>();
    for (int i = 0; i < FILTERS_OF_ONE; i++) filters.add(prefix + "/" + i);
    assault.subscribe(client, filters, 1, FILTERS_IN_ONE);
  }

  /** Publishes with QoS 2 and never releases. */
  private static void exchange(Assault assault, int number) throws InterruptedException {
    var opened = durable(assault, "exchanging-" + number);
    if (opened.isEmpty()) return;
    var client = opened.get();
    for (int i = 0; i < EXCHANGES_OF_ONE && !assault.over(); i++) {
      if (!client.send(Assault.publish("exchanged", client.nextPacketId(), 2, false, 1))) return;
    }
    answers(assault, client, EXCHANGES_OF_ONE, "exchanges");
  }

  private static void answers(Assault assault, Attacker client, int count, String what) throws InterruptedException {
    for (int i = 0; i < count && !assault.over(); i++) {
      var answer = client.answer(5_000);
      if (answer == null) return;
      assault.answered(what, answer.reason());
    }
  }

  private static void retain(Assault assault, int number) throws InterruptedException {
    var random = new SplittableRandom(number);
    var client = assault.client("retaining-" + number, Manner.POLITE);
    for (int sent = 0; sent < RETAINED / PARTS && !assault.over(); sent += WINDOW) {
      for (int i = 0; i < WINDOW; i++) {
        if (!client.send(Assault.publish(topic(random), client.nextPacketId(), 1, true, 1))) return;
      }
      answers(assault, client, WINDOW, "retained");
    }
  }

  /** Topics that share no beginning. */
  private static String topic(SplittableRandom random) {
    var topic = new StringBuilder(TOPIC);
    while (topic.length() < TOPIC) topic.append((char) ('a' + random.nextInt(26)));
    return topic.toString();
  }

  /** Messages of its own for a subscriber that acknowledges nothing. */
  private static void send(Assault assault, int number) throws InterruptedException {
    String topic = "silent/" + number;
    var subscriber = assault.client("silent-" + number, Manner.SILENT);
    if (!assault.subscribe(subscriber, List.of(topic), 1, 1)) return;
    var publisher = assault.client("sending-" + number, Manner.POLITE);
    for (int i = 0; i < SILENT_MESSAGES && !assault.over(); i++) {
      if (!publisher.send(Assault.publish(topic, publisher.nextPacketId(), 1, false, SILENT_BYTES))) return;
    }
    answers(assault, publisher, SILENT_MESSAGES, "sent");
    publisher.send(Packet.disconnect());
  }
}
