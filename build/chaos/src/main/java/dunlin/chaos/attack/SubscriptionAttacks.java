package dunlin.chaos.attack;

import dunlin.chaos.attack.Attacker.Manner;
import dunlin.chaos.mqtt.check.Packet;
import java.util.ArrayList;
import java.util.List;

/** Attacks with subscriptions. */
final class SubscriptionAttacks {
  private static final int FILTER_LENGTH = 65_535;
  private static final int FILTERS_IN_ONE = 15;
  private static final int FOREVER = 0x7FFF_FFFF;
  private static final int CLIENTS = 50;
  private static final int FILTERS_OF_ONE = 10_000;
  private static final int MATCHING_LEVELS = 14;
  private static final int GROUPS = 10_000;
  private static final int EQUAL_HASHES = 2_000;
  private static final int SMALL = 16;

  static final List<Attack> ALL =
      List.of(
          Attack.of("long-filters", "460 filters of 65,535 bytes by one client, and as many by one with a durable session", SubscriptionAttacks::longFilters),
          Attack.of("overlapping-filters", "50 clients with 10,000 filters each that all match one topic, and publishes to it", SubscriptionAttacks::overlapping),
          Attack.of("many-groups", "one client in 10,000 shared groups on one topic, and publishes to it", SubscriptionAttacks::groups),
          Attack.of("equal-hashes", "SUBSCRIBE with 2,000 filters whose hash codes are equal, again and again", SubscriptionAttacks::equalHashes));

  private SubscriptionAttacks() {}

  private static void longFilters(Assault assault) throws InterruptedException {
    var filters = new ArrayList<String>();
    for (int i = 0; i < 460; i++) filters.add(padded("long/" + i + "/", FILTER_LENGTH));
    var passing = assault.client("long-filters", Manner.POLITE);
    assault.subscribe(passing, filters, 1, FILTERS_IN_ONE);
    var durable = assault.open(Manner.POLITE);
    assault.answered("connected", durable.connect("long-filters-durable", true, FOREVER));
    assault.subscribe(durable, filters, 1, FILTERS_IN_ONE);
    assault.untilOver();
  }

  /** A text of exactly this length. */
  static String padded(String beginning, int length) {
    return beginning + "x".repeat(length - beginning.length());
  }

  private static void overlapping(Assault assault) throws InterruptedException {
    var filters = matching(FILTERS_OF_ONE);
    Assault.inParallel(
        4,
        number -> {
          for (int i = number; i < CLIENTS && !assault.over(); i += 4)
            assault.subscribe(assault.client("overlapping-" + i, Manner.POLITE), filters, 0, 1000);
        });
    publishUntilOver(assault, matched(), 20);
  }

  /** A number of filters that all match {@link #matched}. */
  static List<String> matching(int count) {
    var filters = new ArrayList<String>();
    for (int bits = 0; filters.size() < count; bits++) {
      var levels = new ArrayList<String>();
      for (int level = 0; level < MATCHING_LEVELS; level++) levels.add((bits >> level & 1) == 1 ? "+" : "l" + level);
      filters.add(String.join("/", levels));
    }
    return filters;
  }

  static String matched() {
    var levels = new ArrayList<String>();
    for (int level = 0; level < MATCHING_LEVELS; level++) levels.add("l" + level);
    return String.join("/", levels);
  }

  private static void groups(Assault assault) throws InterruptedException {
    var filters = new ArrayList<String>();
    for (int i = 0; i < GROUPS; i++) filters.add("$share/group-" + i + "/crowded");
    assault.subscribe(assault.client("many-groups", Manner.SILENT), filters, 1, 1000);
    publishUntilOver(assault, "crowded", 200);
  }

  private static void publishUntilOver(Assault assault, String topic, long pauseMillis) throws InterruptedException {
    var publisher = assault.client("publisher", Manner.POLITE);
    byte[] publish = Assault.publish(topic, 0, 0, false, SMALL);
    while (!assault.over()) {
      if (!publisher.send(publish)) return;
      assault.count("published", 1);
      Thread.sleep(pauseMillis);
    }
  }

  private static void equalHashes(Assault assault) throws InterruptedException {
    var filters = equalHashes(EQUAL_HASHES);
    for (int i = 0; !assault.over(); i++) {
      var client = assault.client("equal-hashes-" + i, Manner.POLITE);
      // One packet with all filters, as an attacker would send; repeated, for the shared table and the client's own.
      assault.subscribe(client, filters, 0, EQUAL_HASHES);
      assault.subscribe(client, filters, 1, EQUAL_HASHES);
      client.send(Packet.disconnect());
      Thread.sleep(500);
    }
  }

  /** Different texts with the same {@link String#hashCode}. */
  static List<String> equalHashes(int count) {
    var texts = new ArrayList<String>();
    for (int bits = 0; texts.size() < count; bits++) {
      var text = new StringBuilder();
      for (int pair = 0; pair < 19; pair++) text.append((bits >> pair & 1) == 1 ? "Aa" : "BB");
      texts.add(text.toString());
    }
    return texts;
  }
}
