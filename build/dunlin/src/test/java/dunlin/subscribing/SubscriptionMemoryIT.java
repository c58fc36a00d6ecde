package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits on the memory of subscriptions: of one session, of all connected clients, of all durable sessions. */
@SuppressWarnings("try") // clients that disconnect are what is tested
final class SubscriptionMemoryIT {
  private static final int REFUSED = 0x97;

  private static Packet subscribe(RawClient client, String filter) {
    client.send(RawClient.SUBSCRIBE, RawClient.u16(7), RawClient.noProperties(), filter, 1);
    return client.next(RawClient.SUBACK);
  }

  private static void unsubscribe(RawClient client, String filter) {
    client.send(RawClient.UNSUBSCRIBE, RawClient.u16(8), RawClient.noProperties(), filter);
    assertThat(client.next(RawClient.UNSUBACK).reason()).isZero();
  }

  /** How many more subscriptions a client is granted. */
  private static int fill(RawClient client, String name, String setting) {
    for (int i = 0; ; i++) {
      Packet suback = subscribe(client, name + "/" + i + "/#");
      if (suback.reason() == 1) continue;
      assertThat(suback.reason()).isEqualTo(REFUSED);
      assertThat(suback.reasonString()).contains(setting);
      return i;
    }
  }

  private static RawClient durable(TestBroker broker, String clientId, boolean cleanStart) {
    RawClient client = new RawClient(broker.port());
    client.connect(RawClient.connect(5, cleanStart, 0, clientId, RawClient.properties(RawClient.sessionExpiry(600))));
    return client;
  }

  @Test
  void theBytesOfASessionsFiltersAreBounded(@TempDir Path data) {
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.session.filter-bytes-max", "1KiB"));
        RawClient client = RawClient.connected(broker, "client");
        RawClient durable = durable(broker, "durable", true)) {
      String one = "a/" + "x".repeat(600);
      String other = "b/" + "x".repeat(600);
      for (RawClient each : new RawClient[] {client, durable}) {
        assertThat(subscribe(each, one).reason()).isEqualTo(1);
        Packet refused = subscribe(each, other);
        assertThat(refused.reason()).isEqualTo(REFUSED);
        assertThat(refused.reasonString()).contains("limit 1024 (dunlin.session.filter-bytes-max)");
        assertThat(subscribe(each, one).reason()).as("one that is there").isEqualTo(1);
        unsubscribe(each, one);
        assertThat(subscribe(each, other).reason()).isEqualTo(1);
      }
      durable.close();
      try (RawClient back = durable(broker, "durable", false)) {
        assertThat(subscribe(back, one).reason()).as("with what is stored").isEqualTo(REFUSED);
      }
    }
  }

  @Test
  void oneClientLeavesMemoryForTheSubscriptionsOfOthers(@TempDir Path data) {
    String setting = "dunlin.memory.subscriptions-max";
    try (TestBroker broker = TestBroker.on(data, Map.of(setting, "64KiB", "dunlin.lanes", "1"));
        RawClient other = RawClient.connected(broker, "other")) {
      int first;
      try (RawClient greedy = RawClient.connected(broker, "greedy")) {
        first = fill(greedy, "greedy", setting);
        assertThat(first).isBetween(40, 70); // half of the limit, a little less than 600 bytes each
        assertThat(fill(other, "other", setting)).isGreaterThan(first / 3);
        unsubscribe(greedy, "greedy/1/#");
        unsubscribe(greedy, "greedy/2/#");
      }
      await("the other's end is seen").atMost(TestBroker.SOON).until(() -> subscribe(other, "room/again").reason() == 1);
    }
  }

  @Test
  void memoryOfDurableSessionsIsBoundedAcrossARestart(@TempDir Path data) {
    String setting = "dunlin.inbox.memory-max";
    Map<String, String> settings = Map.of(setting, "16KiB");
    int granted;
    try (TestBroker broker = TestBroker.on(data, settings);
        RawClient one = durable(broker, "one", true);
        RawClient other = durable(broker, "other", true)) {
      granted = fill(one, "one", setting);
      assertThat(granted).isBetween(40, 64); // about 290 bytes each
      assertThat(subscribe(other, "b").reason()).isEqualTo(REFUSED);
      String longName = "c".repeat(200); // a little may be left of the limit
      try (RawClient more = new RawClient(broker.port())) {
        more.send(RawClient.connect(5, true, 0, longName, RawClient.properties(RawClient.sessionExpiry(600))));
        Packet connack = more.expect(RawClient.CONNACK);
        assertThat(connack.reason()).isEqualTo(REFUSED);
        assertThat(connack.reasonString()).contains(setting);
      }
      RawClient.connected(broker, longName).close(); // its session ends with the connection
    }
    try (TestBroker broker = TestBroker.on(data, settings);
        RawClient other = durable(broker, "other", false)) {
      assertThat(subscribe(other, "b").reason()).isEqualTo(REFUSED);
      durable(broker, "one", true).close();
      assertThat(fill(other, "one", setting)).isEqualTo(granted);
    }
  }

  private static void assertNotSubscribed(TestBroker broker, String clientId, String filter) {
    try (RawClient back = durable(broker, clientId, false)) {
      back.send(RawClient.UNSUBSCRIBE, RawClient.u16(8), RawClient.noProperties(), filter);
      assertThat(back.next(RawClient.UNSUBACK).reason()).as("stored, though it was refused").isEqualTo(0x11);
    }
  }

  @Test
  void routesAreBoundedAcrossARestart(@TempDir Path data) {
    String setting = "dunlin.dist.memory-max";
    Map<String, String> settings = Map.of(setting, "8KiB");
    int granted;
    try (TestBroker broker = TestBroker.on(data, settings);
        RawClient client = RawClient.connected(broker, "client")) {
      try (RawClient one = durable(broker, "one", true)) {
        granted = fill(one, "one", setting);
        assertThat(granted).isBetween(20, 30); // about 270 bytes each
        assertThat(subscribe(client, "b").reason()).isEqualTo(REFUSED);
        assertThat(subscribe(one, "one/1/#").reason()).as("one that is there").isEqualTo(1);
      }
      assertNotSubscribed(broker, "one", "one/" + granted + "/#");
    }
    try (TestBroker broker = TestBroker.on(data, settings);
        RawClient client = RawClient.connected(broker, "client")) {
      assertThat(subscribe(client, "b").reason()).isEqualTo(REFUSED);
      durable(broker, "one", true).close();
      int before = granted;
      await("its routes are removed, a while after its end").atMost(TestBroker.SOON).until(() -> fill(client, "new", setting) >= before - 2);
    }
  }

  @Test
  void groupsOfATopicFilterAreBounded(@TempDir Path data) {
    String setting = "dunlin.dist.groups-max";
    try (TestBroker broker = TestBroker.on(data, Map.of(setting, "2"));
        RawClient client = RawClient.connected(broker, "client")) {
      try (RawClient one = durable(broker, "one", true)) {
        assertThat(subscribe(one, "$share/g1/a").reason()).isEqualTo(1);
        assertThat(subscribe(client, "$share/g2/a").reason()).isEqualTo(1);
        for (RawClient each : new RawClient[] {client, one}) {
          Packet refused = subscribe(each, "$share/g3/a");
          assertThat(refused.reason()).isEqualTo(REFUSED);
          assertThat(refused.reasonString()).contains("limit 2 (" + setting + ")");
          assertThat(subscribe(each, "$share/g3/b").reason()).isEqualTo(1);
        }
        unsubscribe(client, "$share/g2/a");
        await("the route that UNSUBACK does not wait for is removed").atMost(TestBroker.SOON).until(() -> subscribe(one, "$share/g4/a").reason() == 1);
      }
      assertNotSubscribed(broker, "one", "$share/g3/a");
    }
  }

  /** Filters that differ in where their wildcards are make a match dear, other filters do not. */
  @Test
  void patternsOfWildcardsAreBounded(@TempDir Path data) {
    String setting = "dunlin.dist.patterns-max";
    try (TestBroker broker = TestBroker.on(data, Map.of(setting, "16"));
        RawClient client = RawClient.connected(broker, "client")) {
      try (RawClient one = durable(broker, "one", true)) {
        for (int i = 0; i < 16; i++) assertThat(subscribe(i % 2 == 0 ? one : client, "a/".repeat(i) + "+").reason()).isEqualTo(1);
        for (RawClient each : new RawClient[] {client, one}) {
          Packet refused = subscribe(each, "+/+/#");
          assertThat(refused.reason()).isEqualTo(REFUSED);
          assertThat(refused.reasonString()).contains("limit 16 (" + setting + ")");
          each.send(RawClient.UNSUBSCRIBE, RawClient.u16(8), RawClient.noProperties(), "+/+/#");
          assertThat(each.next(RawClient.UNSUBACK).reason()).as("stored, though it was refused").isEqualTo(0x11);
          assertThat(subscribe(each, "other/names/of/levels/+").reason()).as("a pattern that is there").isEqualTo(1);
          assertThat(subscribe(each, "no/wildcard/of/one/level/#").reason()).isEqualTo(1);
        }
        unsubscribe(client, "a/".repeat(15) + "+");
        await("the route that UNSUBACK does not wait for is removed").atMost(TestBroker.SOON).until(() -> subscribe(one, "+/+/#").reason() == 1);
      }
    }
  }
}
