package dunlin.subscribing;

import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBLISH;
import static dunlin.harness.RawClient.PUBREL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import dunlin.harness.RuledBroker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each way by which a message can reach a client: what it may not receive does not come, and what it may does. */
class WithheldMessagesIT {
  private static final String[] PARTLY = {"deny user reader read home/secret", "allow user reader read home/#", "allow user reader publish wills/#"};
  private static final String[] ALL = {"allow user reader read home/#", "allow user reader publish wills/#"};
  private static final String[] NONE = {"allow user reader read other", "allow user reader publish wills/later"};

  private static final String UPTIME = "$SYS/broker/uptime";

  @TempDir Path directory;

  private static void publishBoth(Hive admin, int qos, boolean retain) {
    admin.publish("home/secret", qos, "secret", retain).join();
    admin.publish("home/open", qos, "open", retain).join();
  }

  /** The messages that have come. */
  private static List<RawClient.Packet> messages(RawClient client) {
    return client.untilPong().stream().filter(packet -> packet.type() == PUBLISH).toList();
  }

  private static void seesTheOpenOneOnly(RuledBroker ruled, RawClient client, long withheld) {
    assertThat(client.before("open")).isEmpty();
    assertThat(messages(client)).isEmpty();
    await().atMost(TestBroker.SOON).until(() -> ruled.withheld() == withheld);
  }

  @ParameterizedTest
  @CsvSource({"false,0", "false,1", "false,2", "true,0", "true,1", "true,2"})
  void live(boolean durable, int qos) {
    try (var ruled = new RuledBroker(directory, PARTLY);
        Hive admin = ruled.admin();
        var client = durable ? ruled.durable("reader", "c") : ruled.connected("reader", "c")) {
      client.subscribe("home/#", qos);
      publishBoth(admin, 2, false);
      seesTheOpenOneOnly(ruled, client, 1);
      await().atMost(TestBroker.SOON).until(() -> ruled.denied("receive") == 1);
    }
  }

  /** Rules deny one of the two that it takes to get a message. */
  @ParameterizedTest
  @CsvSource({"subscribe,false", "subscribe,true", "receive,false", "receive,true"})
  void eitherToSubscribeOrToReceiveIsDenied(String action, boolean durable) {
    try (var ruled = new RuledBroker(directory, "deny user reader " + action + " home/secret", "allow user reader read home/#");
        Hive admin = ruled.admin();
        var client = durable ? ruled.durable("reader", "c") : ruled.connected("reader", "c")) {
      client.subscribe("home/#", 1);
      publishBoth(admin, 1, false);
      seesTheOpenOneOnly(ruled, client, 1);
    }
  }

  /** Several subscriptions that match one message make one copy. */
  @Test
  void liveByTwoSubscriptions() {
    try (var ruled = new RuledBroker(directory, PARTLY); Hive admin = ruled.admin(); var client = ruled.connected("reader", "c")) {
      client.subscribe("home/#", 1);
      client.subscribe("home/+", 0);
      publishBoth(admin, 1, false);
      seesTheOpenOneOnly(ruled, client, 1);
    }
  }

  @ParameterizedTest
  @CsvSource({"false,0", "false,1", "true,0", "true,1", "true,2"})
  void retained(boolean durable, int qos) {
    try (var ruled = new RuledBroker(directory, PARTLY);
        Hive admin = ruled.admin();
        var client = durable ? ruled.durable("reader", "c") : ruled.connected("reader", "c")) {
      publishBoth(admin, 2, true);
      client.subscribe("home/#", qos);
      seesTheOpenOneOnly(ruled, client, 1);
      assertThat(ruled.metric("dunlin_inbox_appended_total", "")).as("messages that were offered to the inbox").isEqualTo(durable && qos > 0 ? 1 : 0);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void queued(int qos) {
    try (var ruled = new RuledBroker(directory, PARTLY); Hive admin = ruled.admin()) {
      ruled.durable("reader", "c").disconnectAfter(client -> client.subscribe("home/#", qos));
      publishBoth(admin, 2, false);
      try (var client = ruled.durable("reader", "c")) {
        seesTheOpenOneOnly(ruled, client, 1);
      }
      try (var client = ruled.durable("reader", "c")) {
        assertThat(messages(client)).as("what was withheld is gone").isEmpty();
      }
    }
  }

  @Test
  void afterTakeOver() {
    try (var ruled = new RuledBroker(directory, PARTLY); Hive admin = ruled.admin(); var first = ruled.durable("reader", "c")) {
      first.subscribe("home/#", 1);
      try (var second = ruled.durable("reader", "c")) {
        publishBoth(admin, 1, false);
        seesTheOpenOneOnly(ruled, second, 1);
      }
    }
  }

  @Test
  void aWillToATopicThatIsWithheld() {
    try (var ruled = new RuledBroker(directory, PARTLY);
        var reader = ruled.connected("reader", "c")) {
      reader.subscribe("home/#", 1);
      for (String topic : new String[] {"home/secret", "home/open"}) {
        RawClient.connected(ruled.broker().port(), RuledBroker.willing(5, "admin", "dying in " + topic, topic, 0)).disconnectAfter(each -> each.send(RawClient.DISCONNECT, 4));
      }
      assertThat(reader.take().topic()).isEqualTo("home/open");
      await().atMost(TestBroker.SOON).until(() -> ruled.withheld() == 1);
    }
  }

  /** The topics of messages that come, until one has come and others were withheld. */
  private static List<String> topicsUntilOthersAreWithheld(RuledBroker ruled, RawClient client, long before) {
    List<String> topics = new ArrayList<>();
    await()
        .atMost(TestBroker.SOON)
        .until(
            () -> {
              messages(client).forEach(message -> topics.add(message.topic()));
              return ruled.withheld() > before && !topics.isEmpty();
            });
    return topics;
  }

  @Test
  void statistics() {
    String[] rules = {"deny user reader read " + UPTIME, "allow user reader read $SYS/#"};
    try (var ruled = new RuledBroker(directory, Map.of("dunlin.sys.interval", "1h"), rules); var client = ruled.connected("reader", "c")) {
      client.subscribe("$SYS/broker/#", 0);
      assertThat(topicsUntilOthersAreWithheld(ruled, client, 0)).doesNotContain(UPTIME);
    }
  }

  // ----------------------------------------------------------------------------------------------------- after a change of rules

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void statisticsAfterAChange(boolean durable) {
    try (var ruled = new RuledBroker(directory, Map.of("dunlin.sys.interval", "100ms"), "allow user reader read $SYS/#");
        var watching = ruled.connected("admin", "watching");
        var client = durable ? ruled.durable("reader", "c") : ruled.connected("reader", "c")) {
      watching.subscribe(UPTIME, 0);
      client.subscribe("$SYS/broker/#", 0);
      List<String> topics = new ArrayList<>();
      await().atMost(TestBroker.SOON).until(() -> topics.addAll(messages(client).stream().map(RawClient.Packet::topic).toList()) && topics.contains(UPTIME));

      ruled.change("deny user reader read " + UPTIME, "allow user reader read $SYS/#");
      messages(client);
      assertThat(topicsUntilOthersAreWithheld(ruled, client, ruled.withheld())).doesNotContain(UPTIME);

      ruled.change(NONE);
      await("the subscription is ended").atMost(TestBroker.SOON).until(() -> ruled.denied("subscription") == 1);
      messages(client);
      watching.untilPong();
      watching.take();
      assertThat(messages(client)).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"false,0", "false,1", "true,0", "true,1"})
  void liveAfterAChange(boolean durable, int qos) {
    try (var ruled = new RuledBroker(directory, ALL);
        Hive admin = ruled.admin();
        var client = durable ? ruled.durable("reader", "c") : ruled.connected("reader", "c")) {
      client.subscribe("home/#", qos);
      publishBoth(admin, 1, false);
      assertThat(client.before("open")).hasSize(1);

      ruled.change(PARTLY);
      long before = ruled.withheld();
      publishBoth(admin, 1, false);
      seesTheOpenOneOnly(ruled, client, before + 1);

      ruled.change(NONE);
      publishBoth(admin, 1, false);
      assertThat(messages(client)).isEmpty();
      await("the subscription is ended").atMost(TestBroker.SOON).until(() -> ruled.denied("subscription") == 1);
      if (durable) await().atMost(TestBroker.SOON).until(() -> ruled.broker().node().clients("c", "", 1).getFirst().subscriptions() == 0);
      ruled.change(ALL);
      publishBoth(admin, 1, false);
      assertThat(messages(client)).as("a subscription that was ended does not come back").isEmpty();
      client.subscribe("home/#", qos);
      publishBoth(admin, 1, false);
      assertThat(client.before("open")).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void queuedAfterAChange(int qos) {
    try (var ruled = new RuledBroker(directory, ALL); Hive admin = ruled.admin()) {
      ruled.durable("reader", "c").disconnectAfter(client -> client.subscribe("home/#", qos));
      publishBoth(admin, 2, false);
      ruled.change(PARTLY);
      try (var client = ruled.durable("reader", "c")) {
        seesTheOpenOneOnly(ruled, client, 1);
      }
      // The broker may not have seen the end of the connection yet, and withhold from it at once: counted from here.
      long before = ruled.withheld();
      publishBoth(admin, 2, false);
      ruled.change(NONE);
      try (var client = ruled.durable("reader", "c")) {
        assertThat(client.sessionPresent()).isTrue();
        // Both of them, and the open one from before if the client had no time to acknowledge it.
        await().atMost(TestBroker.SOON).until(() -> ruled.withheld() >= before + 2);
        await().atMost(TestBroker.SOON).until(() -> ruled.broker().node().clients("c", "", 1).getFirst().subscriptions() == 0);
        assertThat(messages(client)).isEmpty();
      }
      ruled.change(ALL);
      publishBoth(admin, 2, false);
      try (var client = ruled.durable("reader", "c")) {
        assertThat(messages(client)).as("the stored subscription was ended when the session was resumed").isEmpty();
      }
    }
  }

  /** What waits for a client of which the window is full is checked when it is its turn. */
  @Test
  void waitingAfterAChange() {
    try (var ruled = new RuledBroker(directory, ALL);
        Hive admin = ruled.admin();
        var client = RawClient.connected(ruled.broker().port(), narrow())) {
      client.subscribe("home/#", 1);
      admin.publish("home/open", 1, "fills the window").join();
      publishBoth(admin, 1, false);
      RawClient.Message first = client.message();
      ruled.change(PARTLY);
      client.puback(first.packetId());
      seesTheOpenOneOnly(ruled, client, 1);
    }
  }

  /** It waits by a subscription that its client has ended itself, and all others are allowed as a whole. The other client, on the same loop, shows when the rules have changed there. */
  @Test
  void waitingByAnEndedSubscriptionAfterAChange() {
    try (var ruled = new RuledBroker(directory, Map.of("dunlin.lanes", "1"), "allow user reader read home/#", "allow user reader read other", "allow user other read home/#");
        Hive admin = ruled.admin();
        var client = RawClient.connected(ruled.broker().port(), narrow());
        var ends = ruled.connected("other", "d")) {
      client.subscribe("home/#", 1);
      client.subscribe("other", 1);
      ends.subscribe("home/none", 1);
      admin.publish("home/open", 1, "fills the window").join();
      admin.publish("home/secret", 1, "secret").join();
      RawClient.Message first = client.message();
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(100), RawClient.noProperties(), "home/#");
      client.next(RawClient.UNSUBACK);

      ruled.change("allow user reader read other");
      await().atMost(TestBroker.SOON).until(() -> ruled.denied("subscription") == 1);
      client.puback(first.packetId());
      admin.publish("other", 1, "open").join();
      seesTheOpenOneOnly(ruled, client, 1);
    }
  }

  private static byte[] narrow() {
    return RawClient.connect(5, 0xC2, 0, RawClient.properties(RawClient.receiveMaximum(1)), "c", "reader", "reader");
  }

  /** The PUBLISH is not sent again; PUBREL ends the exchange, in whatever state the client is. */
  @Test
  void anUnfinishedExchangeAfterAChange() {
    try (var ruled = new RuledBroker(directory, ALL); Hive admin = ruled.admin()) {
      int packetId;
      try (var client = ruled.durable("reader", "c")) {
        client.subscribe("home/#", 2);
        admin.publish("home/secret", 2, "secret").join();
        packetId = client.message().packetId();
      }
      ruled.change(PARTLY);
      try (var client = ruled.durable("reader", "c")) {
        RawClient.Packet first = client.expect(PUBREL);
        assertThat(first.packetId()).isEqualTo(packetId);
        client.pubcomp(packetId);
        admin.publish("home/open", 2, "open").join();
        seesTheOpenOneOnly(ruled, client, 1);
      }
      try (var client = ruled.durable("reader", "c")) {
          assertThat(messages(client)).isEmpty();
      }
    }
  }

  /** What the first connection has had and not acknowledged comes to the second one only if the client may have it still. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void takenOverAfterAChange(int qos) {
    try (var ruled = new RuledBroker(directory, ALL); Hive admin = ruled.admin(); var first = ruled.durable("reader", "c")) {
      first.subscribe("home/#", qos);
      publishBoth(admin, 2, false);
      assertThat(first.next(2, PUBLISH)).extracting(RawClient.Packet::text).containsExactly("secret", "open");
      ruled.change(PARTLY);
      try (var second = ruled.durable("reader", "c")) {
        seesTheOpenOneOnly(ruled, second, 1);
      }
    }
  }

  /** The other member gets what this one may not have any more; nothing is lost. */
  @ParameterizedTest
  @CsvSource({"$share,false", "$share,true", "$oshare,false", "$oshare,true"})
  void sharedAfterAChange(String prefix, boolean durable) {
    String filter = prefix + "/g/home/#";
    try (var ruled = new RuledBroker(directory, ALL);
        Hive admin = ruled.admin();
        var denied = durable ? ruled.durable("reader", "c") : ruled.connected("reader", "c");
        var allowed = durable ? ruled.durable("admin", "d") : ruled.connected("admin", "d")) {
      denied.subscribe(filter, 1);
      ruled.change(NONE);
      await("the member has left").atMost(TestBroker.SOON).until(() -> ruled.denied("subscription") == 1);
      if (durable) await().atMost(TestBroker.SOON).until(() -> ruled.broker().node().clients("c", "", 1).getFirst().subscriptions() == 0);
      allowed.subscribe(filter, 1);
      List<String> expected = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        admin.publish("home/" + i, 1, "message " + i).join();
        expected.add("message " + i);
      }
      List<String> got = new ArrayList<>();
      for (int i = 0; i < 20; i++) got.add(allowed.take().text());
      assertThat(got).containsExactlyInAnyOrderElementsOf(expected);
      assertThat(messages(denied)).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  void publishesAfterAChange(int level) {
    try (var ruled = new RuledBroker(directory, "allow user other publish x");
        Hive admin = ruled.admin().subscribe("x", 1);
        var client = RawClient.connected(ruled.broker().port(), RuledBroker.connect(level, "other", "c", true, 0))) {
      assertThat(client.publishAndWait("x", "before")).isZero();
      ruled.change("allow user other publish y");
      client.publish("x", 1, 9, "after");
      assertThat(client.next(PUBACK).reason()).isEqualTo(level == 5 ? 0x87 : 0);
      ruled.change("allow user other publish x");
      assertThat(client.publishAndWait("x", "again")).isZero();
      assertThat(admin.before("again")).extracting(Hive::text).containsExactly("before");
    }
  }

  /** The user who left it may not publish it any more when its delay is over. That others bring rules with them changes nothing. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aWillAfterAChange(boolean othersBringRules) {
    Map<String, String> more = othersBringRules ? Map.of("dunlin.auth.http.url", "http://127.0.0.1:9/clients", "dunlin.auth.http.acl", "true") : Map.of();
    try (var ruled = new RuledBroker(directory, more, ALL); Hive admin = ruled.admin().subscribe("wills/#", 1)) {
      for (String topic : new String[] {"wills/late", "wills/later"}) {
        RawClient.connected(ruled.broker().port(), RuledBroker.willing(5, "reader", topic, topic, 3_600)).reset();
      }
      ruled.change(NONE);
      // The end of the session ends the delay, too.
      for (String topic : new String[] {"wills/late", "wills/later"}) {
        RawClient.connected(ruled.broker().port(), RuledBroker.connect(5, "reader", topic, true, 0)).close();
      }
      assertThat(admin.next().getTopic()).hasToString("wills/later");
      await().atMost(TestBroker.SOON).until(() -> ruled.denied("will") == 1);
      assertThat(admin.arrived()).isEmpty();
    }
  }

  @Test
  void aWrongChangeKeepsTheRules() throws IOException {
    try (var ruled = new RuledBroker(directory, ALL); Hive admin = ruled.admin(); var client = ruled.connected("reader", "c")) {
      client.subscribe("home/#", 1);
      Files.writeString(ruled.acl(), "allow everyone all #\nnonsense\n");
      await().atMost(TestBroker.SOON).until(() -> ruled.metric("dunlin_auth_acl_file_reloads_total", "result=\"failed\"") == 1);
      assertThat(client.publishAndWait("elsewhere", "")).isEqualTo(0x87);
      publishBoth(admin, 1, false);
      assertThat(client.before("open")).hasSize(1);
      ruled.change(PARTLY);
      publishBoth(admin, 1, false);
      seesTheOpenOneOnly(ruled, client, 1);
    }
  }
}
