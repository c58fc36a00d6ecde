package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import dunlin.Dunlin;
import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which member gets a message of a shared subscription, above all when members join, leave, or do not keep up. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("try") // members that leave are what is tested
class SharedGroupIT {
  private static final int MEMBERS = 8;

  private final TestBroker broker;

  SharedGroupIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @ParameterizedTest(name = "QoS {0}, durable members {1}")
  @Tag("pitfall-70")
  @CsvSource({"0, false", "1, false", "1, true"})
  void eachMessageGoesToOneMemberAndAllGetTheirShare(int qos, boolean durable) {
    String topic = UUID.randomUUID().toString();
    int messages = 10_000;
    List<Hive> members = members(MEMBERS, durable, "$share/g/" + topic + "/#", qos);
    List<Hive> publishers = IntStream.range(0, 4).mapToObj(_ -> Hive.connected(broker, false)).toList();
    for (int from = 0; from < messages; from += 1_000) {
      // QoS 0 has no flow control, so each batch is sent after the previous one has arrived.
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = from; i < from + 1_000; i++) sent.add(publishers.get(i % 4).publish(topic + "/" + i % 50, qos, Integer.toString(i)));
      sent.forEach(CompletableFuture::join);
      int due = from + 1_000;
      await().atMost(TestBroker.SOON).until(() -> members.stream().mapToInt(member -> member.arrived().size()).sum() >= due);
    }

    List<String> all = members.stream().flatMap(member -> texts(member).stream()).toList();
    assertThat(all).hasSize(messages).doesNotHaveDuplicates();
    // Faster members get more, and clients on a busy machine differ; ShareGroupTest checks the even spread over equal
    // members.
    for (Hive member : members) {
      assertThat(member.arrived().size()).isBetween(messages / MEMBERS / 2, messages / MEMBERS * 2);
    }
    members.forEach(Hive::close);
    publishers.forEach(Hive::close);
  }

  @ParameterizedTest(name = "the one durable {0}, the other durable {1}")
  @Tag("pitfall-71")
  @CsvSource({"false, false", "true, true", "false, true"})
  void unacknowledgedMessagesGoToAnotherMemberWhenOneLeaves(boolean durable, boolean otherDurable) {
    String topic = UUID.randomUUID().toString();
    int messages = 400;
    try (RawClient silent = client(durable);
        Hive publisher = Hive.connected(broker, false);
        Hive other = Hive.connected(broker, otherDurable)) {
      silent.subscribe("$share/g/" + topic, 1);
      publisher.publish(topic, 1, "first").join();
      assertThat(silent.message().text()).isEqualTo("first");
      other.subscribe("$share/g/" + topic, 1);
      publishAll(publisher, topic, messages);
      silent.close();

      Set<String> arrived = new HashSet<>();
      while (arrived.size() < messages + 1) arrived.add(Hive.text(other.next()));
      assertThat(arrived).contains("first", "0", Integer.toString(messages - 1));
    }
  }

  /** Messages already assigned to a durable member wait for it when the others are not durable; later ones go to the others. */
  @Test
  void anAbsentDurableMemberGetsNothingNewWhileAnotherIsConnected() {
    String topic = UUID.randomUUID().toString();
    String clientId = UUID.randomUUID().toString();
    int messages = 1_000;
    try (Hive publisher = Hive.connected(broker, false);
        Hive here = Hive.connected(broker, false)) {
      here.subscribe("$share/g/" + topic, 1);
      // There are many inbox shards, so that two random ones would often miss the one with a member.
      for (int i = 0; i < 5; i++) durable(clientId + i).subscribe("$share/g/" + topic, 1).close();
      // The client does not wait for the broker, and messages assigned to a member that is leaving wait for it.
      await().atMost(TestBroker.SOON).until(() -> broker.node().clients(clientId, "", 10).stream().noneMatch(Dunlin.Client::connected));
      publishAll(publisher, topic, messages);

      await().atMost(TestBroker.SOON).until(() -> here.arrived().size() == messages);
      here.close();
      assertThat(publisher.reason(topic, 1, "for those who are away").join()).isZero();
      try (Hive back = durable(clientId + 3)) {
        assertThat(Hive.text(back.next())).isEqualTo("for those who are away");
      }
    }
  }

  /** A full member that is not durable must not delay a message that a durable member can take. */
  @Test
  void messagesThatAMemberCannotTakeGoToTheDurableOnes(@TempDir Path data) {
    try (TestBroker small = TestBroker.on(data, Map.of("dunlin.session.queue-messages-max", "10", "dunlin.shared.wait", "300ms"));
        RawClient full = RawClient.connected(small, "full", RawClient.receiveMaximum(1));
        Hive publisher = Hive.connected(small, false);
        Hive durable = Hive.connected(small, true)) {
      full.subscribe("$share/g/t", 1);
      durable.subscribe("$share/g/t", 1);
      List<CompletableFuture<Integer>> reasons = new ArrayList<>();
      for (int i = 0; i < 1_000; i++) reasons.add(publisher.reason("t", 1, Integer.toString(i)));
      assertThat(reasons).allSatisfy(reason -> assertThat(reason.join()).isZero());

      await().atMost(TestBroker.SOON).until(() -> durable.arrived().size() >= 989);
      full.close();
      Set<String> arrived = new HashSet<>();
      await()
          .atMost(TestBroker.SOON)
          .until(
              () -> {
                drainInto(arrived, durable);
                return arrived.size() == 1_000;
              });
    }
  }

  /** Once PUBLISH has been sent with QoS 2, the exchange stays with that session. */
  @Test
  @Tag("pitfall-71")
  @Tag("MQTT-4.8.2-4")
  void anExchangeOfQos2StaysWithItsMember() {
    String topic = UUID.randomUUID().toString();
    String clientId = UUID.randomUUID().toString();
    byte[] expiry = RawClient.properties(RawClient.sessionExpiry(60));
    try (RawClient member = new RawClient(broker.port());
        Hive publisher = Hive.connected(broker, false);
        Hive other = Hive.connected(broker, true)) {
      member.connect(RawClient.connect(5, true, 0, clientId, expiry));
      member.subscribe("$share/g/" + topic, 2);
      publisher.publish(topic, 2, "begun").join();
      Message begun = member.message();
      other.subscribe("$share/g/" + topic, 2);
      member.send(RawClient.PUBREC, RawClient.u16(begun.packetId()));
      member.expect(RawClient.PUBREL);
      member.close();

      publisher.publish(topic, 2, "while it is away").join();
      assertThat(Hive.text(other.next())).isEqualTo("while it is away");
      try (RawClient back = new RawClient(broker.port())) {
        back.connect(RawClient.connect(5, false, 0, clientId, expiry));
        assertThat(back.expect(RawClient.PUBREL).packetId()).isEqualTo(begun.packetId());
        back.send(RawClient.PUBCOMP, RawClient.u16(begun.packetId()));
        back.ping();
      }
      assertThat(other.arrived()).isEmpty();
    }
  }

  @ParameterizedTest(name = "durable members {0}, the slow one reads {1}")
  @CsvSource({"false, false", "false, true", "true, false", "true, true"})
  void aSlowMemberNeitherStallsOthersNorLosesAnything(boolean durable, boolean reads) {
    String topic = UUID.randomUUID().toString();
    int messages = 4_000;
    String padding = "x".repeat(500);
    List<Hive> members = members(3, durable, "$share/g/" + topic, 1);
    try (RawClient slow = new RawClient(broker.port(), 4_096);
        Hive publisher = Hive.connected(broker, false)) {
      slow.connect(
          RawClient.connect(
              5, true, 0, UUID.randomUUID().toString(),
              RawClient.properties(
                  RawClient.sessionExpiry(durable ? 60 : 0), RawClient.receiveMaximum(reads ? 5 : 65_535))));
      slow.subscribe("$share/g/" + topic, 1);
      Set<String> arrived = new HashSet<>();
      long bySlow = 0;
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < messages; i++) sent.add(publisher.publish(topic, 1, i + padding));
      // Its window fills with unacknowledged messages; it may get a share of the messages, but must not delay others.
      sent.forEach(CompletableFuture::join);
      await()
          .atMost(TestBroker.SOON)
          .until(() -> members.stream().mapToInt(member -> member.arrived().size()).sum() >= messages * 3 / 5);
      while (reads && bySlow < 5) {
        slow.message();
        bySlow++;
      }
      slow.close();

      await()
          .atMost(TestBroker.SOON)
          .until(
              () -> {
                members.forEach(member -> drainInto(arrived, member));
                return arrived.size() == messages;
              });
    }
    members.forEach(Hive::close);
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-72")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.3.4-5")
  void aPlainAndASharedSubscriptionOfOneClientBothBringTheMessage(boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (RawClient client = client(durable)) {
      client.subscribe(topic, 1, RawClient.subscriptionIdentifier(1));
      client.subscribe("$share/g/" + topic, 1, RawClient.subscriptionIdentifier(2));
      client.subscribe("$share/h/+", 0, RawClient.subscriptionIdentifier(3));

      client.publish(topic, 1, 1, "x");

      List<Long> identifiers = new ArrayList<>();
      for (int i = 0; i < 3; i++) identifiers.addAll(client.take().numbers(RawClient.SUBSCRIPTION_IDENTIFIER));
      assertThat(identifiers).containsExactlyInAnyOrder(1L, 2L, 3L);
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(2), RawClient.noProperties(), "$share/h/+");
    }
  }

  @ParameterizedTest(name = "durable members {0}")
  @ValueSource(booleans = {false, true})
  void inAnOrderedGroupAPublisherStaysWithAMemberAndKeepsItsOrder(boolean durable) {
    String topic = UUID.randomUUID().toString();
    List<Hive> members = members(4, durable, "$oshare/g/" + topic + "/+", 1);
    List<Hive> publishers = IntStream.range(0, 16).mapToObj(_ -> Hive.connected(broker, false)).toList();
    int each = 100;
    List<CompletableFuture<?>> sent = new ArrayList<>();
    for (int i = 0; i < each; i++) {
      for (int p = 0; p < publishers.size(); p++) sent.add(publishers.get(p).publish(topic + "/" + i % 3, 1, p + " " + i));
    }
    sent.forEach(CompletableFuture::join);
    await()
        .atMost(TestBroker.SOON)
        .until(() -> members.stream().mapToInt(member -> member.arrived().size()).sum() == each * publishers.size());

    Map<String, Hive> memberOf = new HashMap<>();
    Map<String, Integer> last = new HashMap<>();
    for (Hive member : members) {
      for (String text : texts(member)) {
        String publisher = text.substring(0, text.indexOf(' '));
        int number = Integer.parseInt(text.substring(text.indexOf(' ') + 1));
        assertThat(memberOf.computeIfAbsent(publisher, _ -> member)).as("the member of publisher %s", publisher).isSameAs(member);
        assertThat(number).isEqualTo(last.getOrDefault(publisher, -1) + 1);
        last.put(publisher, number);
      }
    }
    assertThat(Set.copyOf(memberOf.values())).hasSizeGreaterThan(1);
    members.forEach(Hive::close);
    publishers.forEach(Hive::close);
  }

  /** Its window and its queue fill up; publishers of other members are not affected. */
  @Test
  void aStuckMemberOfAnOrderedGroupDelaysOnlyItsOwnPublishers(@TempDir Path data) {
    int each = 100;
    try (TestBroker small = TestBroker.on(data, Map.of("dunlin.inbox.group-window", "4"));
        RawClient silent = new RawClient(small.port());
        Hive other = Hive.connected(small, true)) {
      silent.connect(RawClient.connect(5, true, 0, "silent", RawClient.properties(RawClient.sessionExpiry(60))));
      silent.subscribe("$oshare/g/t", 1);
      other.subscribe("$oshare/g/t", 1);
      List<Hive> publishers = IntStream.range(0, 16).mapToObj(_ -> Hive.connected(small, false)).toList();
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < each; i++)
        for (int p = 0; p < publishers.size(); p++) sent.add(publishers.get(p).publish("t", 1, p + " " + i));
      sent.forEach(CompletableFuture::join);

      // All or none of each publisher, and all of some.
      await().atMost(TestBroker.SOON).until(() -> Set.of(0, each).equals(Set.copyOf(ofEach(publishers.size(), other).values())));
      silent.close();
      await().atMost(TestBroker.SOON).until(() -> Set.of(each).equals(Set.copyOf(ofEach(publishers.size(), other).values())));
      for (int p = 0; p < publishers.size(); p++) {
        String from = p + " ";
        List<String> inOrder = IntStream.range(0, each).mapToObj(i -> from + i).toList();
        assertThat(texts(other)).filteredOn(text -> text.startsWith(from)).isEqualTo(inOrder);
      }
      publishers.forEach(Hive::close);
    }
  }

  /** How many messages of each publisher have arrived; each begins with the publisher's number. */
  private static Map<String, Integer> ofEach(int publishers, Hive member) {
    Map<String, Integer> counts = new HashMap<>();
    for (int p = 0; p < publishers; p++) counts.put(Integer.toString(p), 0);
    for (String text : texts(member)) counts.merge(text.substring(0, text.indexOf(' ')), 1, Integer::sum);
    return counts;
  }

  @ParameterizedTest
  @ValueSource(strings = {"$share", "$oshare"})
  void messagesWaitWhileAllDurableMembersAreAbsent(String kind) {
    String topic = UUID.randomUUID().toString();
    String filter = kind + "/g/" + topic;
    List<String> ids = List.of(UUID.randomUUID().toString(), UUID.randomUUID().toString(), UUID.randomUUID().toString());
    for (String id : ids) durable(id).subscribe(filter, 1).close();
    int messages = 1_000;
    try (Hive publisher = Hive.connected(broker, false)) {
      for (int i = 0; i < messages; i++) publisher.publish(topic, 1, Integer.toString(i));
      assertThat(publisher.reason(topic, 2, "last").join()).isZero();

      try (Hive back = durable(ids.get(1))) {
        Set<String> arrived = new HashSet<>();
        while (arrived.size() <= messages) assertThat(arrived.add(Hive.text(back.next()))).isTrue();
        assertThat(arrived).contains("last");
        publisher.publish(topic, 1, "live").join();
        assertThat(Hive.text(back.next())).isEqualTo("live");
      }
    }
  }

  @ParameterizedTest(name = "durable member {0}")
  @ValueSource(booleans = {false, true})
  void nothingIsKeptOnceTheLastMemberHasLeft(boolean durable) {
    String topic = UUID.randomUUID().toString();
    String filter = "$share/g/" + topic;
    try (Hive one = Hive.connected(broker, durable);
        Hive other = Hive.connected(broker, durable);
        Hive publisher = Hive.connected(broker, false)) {
      one.subscribe(filter, 1);
      other.subscribe(filter, 1);
      one.unsubscribe(filter);
      assertThat(publisher.reason(topic, 1, "for the other").join()).isZero();
      assertThat(Hive.text(other.next())).isEqualTo("for the other");
      other.unsubscribe(filter);
      await().atMost(TestBroker.SOON).until(() -> publisher.reason(topic, 1, "for nobody").join() == 0x10);

      one.subscribe(filter, 1);
      publisher.publish(topic, 1, "again").join();
      assertThat(texts(one.before("again"))).doesNotContain("for the other");
    }
  }

  /** While no member can take it, a message waits, and with it its acknowledgement; but not for long. */
  @Test
  void aMessageThatNoMemberTakesIsRefusedInTheEnd(@TempDir Path data) {
    try (TestBroker small =
            TestBroker.on(data, Map.of("dunlin.session.queue-messages-max", "10", "dunlin.shared.wait", "300ms"));
        RawClient full = RawClient.connected(small, "full", RawClient.receiveMaximum(1));
        Hive publisher = Hive.connected(small, false)) {
      full.subscribe("$share/g/t", 1);
      for (int i = 0; i < 11; i++) assertThat(publisher.reason("t", 1, Integer.toString(i)).join()).isZero();
      assertThat(publisher.reason("t", 1, "too much").join()).isEqualTo(0x97);
    }
  }

  @Test
  void aMessageWaitsUntilAMemberTakesIt(@TempDir Path data) {
    try (TestBroker small =
            TestBroker.on(data, Map.of("dunlin.session.queue-messages-max", "10", "dunlin.shared.wait", "60s"));
        RawClient full = RawClient.connected(small, "full", RawClient.receiveMaximum(1));
        Hive publisher = Hive.connected(small, false)) {
      full.subscribe("$share/g/t", 1);
      for (int i = 0; i < 11; i++) assertThat(publisher.reason("t", 1, Integer.toString(i)).join()).isZero();

      CompletableFuture<Integer> waits = publisher.reason("t", 1, "waits");
      for (int i = 0; i < 11; i++) assertThat(full.take().text()).isEqualTo(Integer.toString(i));
      assertThat(waits.join()).isZero();
      assertThat(full.take().text()).isEqualTo("waits");
    }
  }

  /** It is held back itself once a part of its lane's credit is used by messages that wait for the group. */
  @Test
  void aPublisherToAStuckGroupDelaysNoOther(@TempDir Path data) {
    Map<String, String> settings =
        Map.of(
            "dunlin.lanes", "1", "dunlin.lane.messages-max", "64", "dunlin.session.queue-messages-max", "10",
            "dunlin.shared.wait", "20s");
    try (TestBroker small = TestBroker.on(data, settings);
        RawClient full = RawClient.connected(small, "full", RawClient.receiveMaximum(1));
        Hive feeding = Hive.connected(small, false);
        Hive other = Hive.connected(small, false)) {
      full.subscribe("$share/g/t", 1);
      List<CompletableFuture<Integer>> fed = new ArrayList<>();
      for (int i = 0; i < 200; i++) fed.add(feeding.reason("t", 1, Integer.toString(i)));
      fed.subList(0, 11).forEach(CompletableFuture::join);

      for (int i = 0; i < 100; i++) assertThat(other.reason("other", 1, "x").join()).isEqualTo(0x10);
      assertThat(fed.subList(11, 200)).noneMatch(CompletableFuture::isDone);
      full.close();
      fed.forEach(CompletableFuture::join);
    }
  }

  /** MQTT 3 has no error codes: if its connection were closed, it would resend the message, to all subscribers. */
  @Test
  void aStuckGroupDoesNotCloseAPublisherOfMqtt3AndOthersGetItsMessagesOnce(@TempDir Path data) {
    try (TestBroker small =
            TestBroker.on(data, Map.of("dunlin.session.queue-messages-max", "10", "dunlin.shared.wait", "300ms"));
        RawClient full = RawClient.connected(small, "full", RawClient.receiveMaximum(1));
        RawClient other = RawClient.connected(small, "other");
        RawClient publisher = RawClient.connected3(small, "publisher")) {
      full.subscribe("$share/g/t", 1);
      other.subscribe("t", 1);
      int messages = 20;
      for (int i = 0; i < messages; i++) publisher.publish("t", 1, i + 1, Integer.toString(i));

      for (int i = 0; i < messages; i++) assertThat(publisher.expect(RawClient.PUBACK).packetId()).isEqualTo(i + 1);
      for (int i = 0; i < messages; i++) assertThat(other.take().text()).isEqualTo(Integer.toString(i));
      other.ping();
      publisher.ping();
    }
  }

  @ParameterizedTest(name = "seed {0}, durable members {1}")
  @CsvSource({"1, false", "2, true"})
  void nothingIsLostWhileMembersJoinAndLeave(long seed, boolean durable) {
    String topic = UUID.randomUUID().toString();
    String filter = "$share/g/" + topic;
    int messages = 6_000;
    Random random = new Random(seed);
    Set<String> arrived = new HashSet<>();
    List<Hive> current = new ArrayList<>();
    List<Hive> left = new ArrayList<>();
    try (Hive stays = Hive.connected(broker, durable).subscribe(filter, 1);
        Hive publisher = Hive.connected(broker, false)) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        sent.add(publisher.publish(topic, 1, Integer.toString(i)));
        if (i % 40 != 0) continue;
        if (current.size() < 4 || random.nextBoolean()) {
          current.add(Hive.connected(broker, durable).subscribe(filter, 1));
        } else {
          Hive leaving = current.remove(random.nextInt(current.size()));
          if (random.nextBoolean()) leaving.end();
          else leaving.unsubscribe(filter); // messages sent before stay with it
          left.add(leaving);
        }
      }
      sent.forEach(CompletableFuture::join);
      await()
          .atMost(TestBroker.SOON)
          .untilAsserted(
              () -> {
                drainInto(arrived, stays);
                current.forEach(member -> drainInto(arrived, member));
                left.forEach(member -> drainInto(arrived, member));
                assertThat(messages - arrived.size()).as("messages lost with seed %d", seed).isZero();
              });
    }
    current.forEach(Hive::close);
    left.forEach(Hive::close);
  }

  private List<Hive> members(int count, boolean durable, String filter, int qos) {
    return IntStream.range(0, count).mapToObj(_ -> Hive.connected(broker, durable).subscribe(filter, qos)).toList();
  }

  private static void publishAll(Hive publisher, String topic, int messages) {
    List<CompletableFuture<?>> sent = new ArrayList<>();
    for (int i = 0; i < messages; i++) sent.add(publisher.publish(topic, 1, Integer.toString(i)));
    sent.forEach(CompletableFuture::join);
  }

  private Hive durable(String clientId) {
    return Hive.connected(broker, clientId, with -> with.cleanStart(false).sessionExpiryInterval(60));
  }

  private RawClient client(boolean durable) {
    return RawClient.connected(broker, UUID.randomUUID().toString(), RawClient.sessionExpiry(durable ? 60 : 0));
  }

  private static void drainInto(Set<String> texts, Hive member) {
    for (Mqtt5Publish message = member.arrived().poll(); message != null; message = member.arrived().poll()) {
      texts.add(Hive.text(message));
    }
  }

  private static List<String> texts(Hive member) {
    return texts(List.copyOf(member.arrived()));
  }

  private static List<String> texts(List<Mqtt5Publish> messages) {
    return messages.stream().map(Hive::text).toList();
  }
}
