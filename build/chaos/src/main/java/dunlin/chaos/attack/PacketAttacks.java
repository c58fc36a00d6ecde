package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import dunlin.chaos.mqtt.check.Packet;
import java.util.List;
import java.util.Optional;

/** Attacks with incomplete packets. */
final class PacketAttacks {
  private static final int PUBLISHERS = 400;
  private static final int PUBLISH_BYTES = 1_000_000;
  private static final int CONNECTS = 3_000;
  private static final int CONNECT_BYTES = 126_000;

  static final List<Attack> ALL =
      List.of(
          Attack.of("unfinished-publish", "400 clients send a PUBLISH of 1 MB but for its last byte", PacketAttacks::publishes),
          Attack.of("unfinished-connect", "3,000 sockets send a CONNECT of 126 KB but for its last byte", PacketAttacks::connects));

  private PacketAttacks() {}

  private static void publishes(Assault assault) throws InterruptedException {
    byte[] publish = Assault.publish("unfinished", 0, 0, false, PUBLISH_BYTES);
    for (int i = 0; i < PUBLISHERS && !assault.over(); i++) unfinished(assault, assault.client("unfinished-" + i, Manner.POLITE), publish);
    assault.untilOver();
  }

  private static void connects(Assault assault) throws InterruptedException {
    var will = new Packet.Will("unfinished", "x".repeat(65_000), 1, false, 0);
    byte[] connect = Packet.connect(Assault.LEVEL, SubscriptionAttacks.padded("unfinished-", CONNECT_BYTES - 65_100 - 1), true, 0, 10, Optional.of(will));
    // 500 in a second: any faster, the attackers would use up the processors that they share with the broker, and prove
    // nothing about its memory.
    for (int i = 0; i < CONNECTS && !assault.over(); i++) {
      unfinished(assault, assault.open(Manner.DEAF), connect);
      Thread.sleep(2);
    }
    assault.untilOver();
  }

  /** Sends on a thread of its own, since the broker may stop reading. */
  private static void unfinished(Assault assault, Attacker attacker, byte[] packet) {
    Thread.startVirtualThread(
        () -> {
          if (attacker.send(packet, packet.length - 1)) assault.count("sent", 1);
          else assault.answered("", attacker.reason());
        });
  }
}
