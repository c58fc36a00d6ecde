package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import dunlin.chaos.mqtt.check.Packet;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The floods of one tenant. */
final class Floods {
  /*
   * Bounds: CLIENTS threads, each with its part of the rate. A flood that the broker holds back falls behind its rate, and does not catch up.
   */
  private static final int CLIENTS = 8;
  private static final int BYTES = 100;

  /** Less than the broker's Receive Maximum. */
  private static final int WINDOW = 1_000;
  private static final int HELD = 100;
  private static final int FILTERS_IN_ONE = 10;
  private static final int FOREVER = 86_400;
  private static final int ANSWER_MILLIS = 10_000;

  static final List<Flood> ALL =
      List.of(
          new Flood(
              "messages", "8 publishers of QoS 1 to an online subscriber of QoS 0 and a durable one of QoS 1", Neighbourhood.MESSAGES_A_SECOND, Floods::messages),
          new Flood("retained", "8 publishers of retained messages of QoS 1, each on a topic of its own", Neighbourhood.MESSAGES_A_SECOND, Floods::retained),
          new Flood("connections", "ever new connections, of which 800 are open", Neighbourhood.VISITS_A_SECOND, Floods::connections),
          new Flood(
              "subscribes", "SUBSCRIBE with ten filters such as `+/+/1/+/#` by durable sessions, ever new ones", Neighbourhood.VISITS_A_SECOND, Floods::subscribes),
          new Flood("sessions", "ever new durable sessions with a subscription", Neighbourhood.VISITS_A_SECOND, Floods::sessions));

  private Floods() {}

  /** One request of a flood. */
  private interface Request {
    /** @param number of the request, from 0; false when the client cannot go on */
    boolean send(int number) throws InterruptedException;
  }

  /** Repeats a request so many times a second, until the assault is over. */
  private static void pace(Assault assault, int perSecond, Request request) throws InterruptedException {
    long period = TimeUnit.SECONDS.toNanos(CLIENTS) / perSecond;
    long due = System.nanoTime();
    for (int number = 0; !assault.over(); number++) {
      for (long left; (left = due - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
      if (!request.send(number)) {
        assault.problem("a client of the flood could not go on");
        return;
      }
      due = Math.max(due + period, System.nanoTime() - period);
    }
  }

  private static void messages(Assault assault, int perSecond) throws InterruptedException {
    var online = assault.client("flood-online", Manner.POLITE);
    assault.subscribe(online, List.of("flood"), 0, 1);
    var durable = assault.open(Manner.POLITE);
    assault.answered("connected", durable.connect("flood-durable", true, FOREVER));
    assault.subscribe(durable, List.of("flood"), 1, 1);
    publish(assault, perSecond, false);
    assault.count("received", online.messages() + durable.messages());
  }

  private static void retained(Assault assault, int perSecond) throws InterruptedException {
    publish(assault, perSecond, true);
  }

  private static void publish(Assault assault, int perSecond, boolean retain) throws InterruptedException {
    Assault.inParallel(
        CLIENTS,
        client -> {
          var publisher = assault.client("flood-" + client, Manner.POLITE);
          pace(
              assault, perSecond,
              number -> {
                while (number - publisher.acknowledged() >= WINDOW && !publisher.ended() && !assault.over()) LockSupport.parkNanos(1_000_000);
                assault.count("sent", 1);
                String topic = retain ? "flood/%d/%d".formatted(client, number) : "flood";
                return publisher.send(Assault.publish(topic, number % 60_000 + 1, 1, retain, BYTES));
              });
        });
  }

  private static void connections(Assault assault, int perSecond) throws InterruptedException {
    Assault.inParallel(
        CLIENTS,
        client -> {
          var held = new ArrayDeque<Attacker>();
          pace(
              assault, perSecond,
              number -> {
                var next = Attacker.open(assault.port(), Manner.POLITE);
                held.add(next);
                assault.answered("connected", next.connect("flood-%d-%d".formatted(client, number), true, 0));
                if (held.size() > HELD) held.remove().close();
                return true;
              });
          held.forEach(Attacker::close);
        });
  }

  private static void subscribes(Assault assault, int perSecond) throws InterruptedException {
    Assault.inParallel(
        CLIENTS,
        client -> {
          var subscriber = assault.open(Manner.POLITE);
          assault.answered("connected", subscriber.connect("flood-" + client, true, FOREVER));
          pace(
              assault, perSecond,
              number -> {
                var filters = new ArrayList<String>();
                for (int i = 0; i < FILTERS_IN_ONE; i++) filters.add("+/+/%d/+/#".formatted((client * 100_000 + number) * FILTERS_IN_ONE + i));
                return assault.subscribe(subscriber, filters, 1, FILTERS_IN_ONE);
              });
        });
  }

  private static void sessions(Assault assault, int perSecond) throws InterruptedException {
    Assault.inParallel(
        CLIENTS,
        client ->
            pace(
                assault, perSecond,
                number -> {
                  try (var visitor = Attacker.open(assault.port(), Manner.POLITE)) {
                    assault.answered("sessions", visitor.connect("flood-%d-%d".formatted(client, number), true, FOREVER));
                    visitor.send(Packet.subscribe(Assault.LEVEL, 1, "flood/+", 1));
                    visitor.answer(ANSWER_MILLIS);
                  }
                  return true;
                }));
  }
}
