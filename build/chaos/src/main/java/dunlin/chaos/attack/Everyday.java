package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import java.util.ArrayList;
import java.util.List;

/** Ordinary clients that warm up a new broker, so that its code is compiled before anything is measured. */
final class Everyday {
  /*
   * Bounds: CLIENTS at a time, each with a connection for a few milliseconds. Each leaves two durable sessions.
   */
  private static final int CLIENTS = 4;
  private static final int FILTERS = 100;
  private static final int MESSAGES = 50;
  private static final int BYTES = 1000;

  private Everyday() {}

  /** Connects, subscribes, publishes, retains and disconnects in a loop, until the assault is over. */
  static void play(Assault assault) throws InterruptedException {
    Assault.inParallel(
        CLIENTS,
        number -> {
          for (int round = 0; !assault.over(); round++) {
            boolean durable = round % 2 == 1;
            try (var client = Attacker.open(assault.port(), Manner.POLITE)) {
              assault.answered("connected", client.connect("everyday-" + number + (durable ? "-durable" : ""), !durable, durable ? 3600 : 0));
              visit(assault, client, "everyday/" + number);
            }
          }
        });
  }

  private static void visit(Assault assault, Attacker client, String topic) throws InterruptedException {
    var filters = new ArrayList<>(List.of(topic + "/#", "$share/" + topic.replace('/', '-') + "/" + topic + "/+"));
    for (int i = filters.size(); i < FILTERS; i++) filters.add("%s/+/%d/#".formatted(topic, i));
    assault.subscribe(client, filters, 1, FILTERS);
    for (int i = 0; i < MESSAGES; i++) {
      client.send(Assault.publish(topic + "/" + i, i + 1, i % 2, i % 5 == 0, BYTES));
      if (i % 2 == 1) client.answer(1000); // its PUBACK
    }
  }
}
