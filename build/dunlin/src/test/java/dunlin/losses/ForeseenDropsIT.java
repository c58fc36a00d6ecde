package dunlin.losses;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.broker.users.AccessMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.Counted;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.Restarts;
import dunlin.runtime.DropReason;
import dunlin.runtime.Surroundings;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Drops that {@code explain} foresees when it knows the size of a message or when it expires, and those of groups, disks and tenants: each then happens as it says. */
class ForeseenDropsIT {
  private static final int QUOTA_EXCEEDED = 0x97;
  private static final int UNSPECIFIED_ERROR = 0x80;
  private static final int PACKET_TOO_LARGE = 0x95;
  private static final int QOS_NOT_SUPPORTED = 0x9B;
  private static final String WAITS = "waits until the client takes it";
  private static final String STORED = "stored until the client is back";
  private static final String DROPPED = "dropped";

  @TempDir Path directory;

  private interface Asking {
    void ask(TestBroker broker, ApiCalls api) throws Exception;
  }

  private void with(Map<String, String> settings, Asking asking) throws Exception {
    Map<String, String> all = new HashMap<>(settings);
    all.putAll(Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    try (TestBroker broker = TestBroker.on(directory.resolve("data"), all);
        ApiCalls api = ApiCalls.of(directory.resolve("data"))) {
      asking.ask(broker, api);
    }
  }

  private record Explained(String conclusion, String reason, List<JsonObject> steps) {
    static Explained of(ApiCalls api, String query) {
      Answer answer = api.get("/explain?" + query);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      List<JsonObject> steps = answer.json().getAsJsonArray("steps").asList().stream().map(JsonElement::getAsJsonObject).toList();
      return new Explained(answer.member("conclusion"), answer.member("reason"), steps);
    }

    String finding(String step) {
      return steps.stream().filter(each -> each.get("step").getAsString().equals(step)).map(each -> each.get("finding").getAsString()).findFirst().orElse("");
    }

    void dropsAt(String step) {
      assertThat(conclusion).as(reason).isEqualTo(DROPPED);
      assertThat(steps.getLast().get("step").getAsString()).isEqualTo(step);
      assertThat(steps.getLast().get("outcome").getAsString()).isEqualTo("stops");
    }
  }

  private static RawClient online(TestBroker broker, String clientId) {
    return RawClient.connected(broker.port(), Connect.of(clientId).expiry(0));
  }

  private static RawClient slow(TestBroker broker, String clientId, String filter) {
    RawClient client = RawClient.connected(broker.port(), Connect.of(clientId).expiry(0).receiveMaximum(1));
    client.subscribe(filter, 1);
    return client;
  }

  private static void absent(TestBroker broker, ApiCalls api, String clientId) {
    RawClient.connected(broker.port(), Connect.of(clientId)).disconnectAfter(client -> client.subscribe(clientId, 1));
    await().atMost(TestBroker.SOON).until(() -> api.get("/sessions/" + clientId).member("connected").equals("false"));
  }

  private static void publishExpiring(RawClient publisher, String topic, long seconds) {
    byte[] expiry = RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(seconds));
    publisher.send(RawClient.PUBLISH | 2, topic, RawClient.u16(9), RawClient.properties(expiry), "x".getBytes(StandardCharsets.UTF_8));
    assertThat(publisher.next(RawClient.PUBACK).packetId()).isEqualTo(9);
  }

  private static long copies(TestBroker broker, DropReason reason) {
    return broker.frontend().copies().dropped(reason);
  }

  private static long expiredInInboxes(ApiCalls api) {
    return Counted.of(api, "dunlin_inbox_dropped_total", List.of("reason=\"expired\""));
  }

  // ------------------------------------------------------------------------------------------------------------ size and expiry

  @Test
  @Tag("explain:session:packet-too-large")
  void aMessageThatIsLargerThanItsClientTakesToTheByte() throws Exception {
    with(
        Map.of(),
        (broker, api) -> {
          try (RawClient client = RawClient.connected(broker, "small", RawClient.maximumPacketSize(100));
              RawClient publisher = online(broker, "publisher")) {
            client.subscribe("small", 1);
            String empty = Explained.of(api, "client=small&topic=small").finding("size");
            assertThat(empty).startsWith("The client takes packets of up to 100 bytes; this one has ");
            int most = 100 - Integer.parseInt(empty.replaceAll(".*has ([0-9]+) and.*", "$1"));

            Explained fits = Explained.of(api, "client=small&topic=small&bytes=" + most);
            Explained dropped = Explained.of(api, "client=small&topic=small&bytes=" + (most + 1));
            assertThat(fits.conclusion()).isEqualTo("delivered now");
            dropped.dropsAt("size");
            assertThat(dropped.reason()).contains("has 101 bytes", "at most 100 (Maximum Packet Size)");

            publisher.publishAndWait("small", "y".repeat(most + 1));
            publisher.publishAndWait("small", "x".repeat(most));
            assertThat(client.take().text()).isEqualTo("x".repeat(most));
            assertThat(copies(broker, DropReason.PACKET_TOO_LARGE)).isEqualTo(1);
          }
        });
  }

  @Test
  @Tag("explain:session:expired")
  void aMessageThatExpiresBeforeItsClientTakesIt() throws Exception {
    with(
        Map.of(),
        (broker, api) -> {
          try (RawClient client = slow(broker, "late", "late");
              RawClient publisher = online(broker, "publisher")) {
            Explained.of(api, "client=late&topic=late&expiry=0").dropsAt("expiry");
            publishExpiring(publisher, "late", 0);
            await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(copies(broker, DropReason.EXPIRED)).isEqualTo(1));

            publisher.publishAndWait("late", "first");
            Explained waits = Explained.of(api, "client=late&topic=late&expiry=1");
            assertThat(waits.conclusion()).isEqualTo(WAITS);
            assertThat(waits.reason()).endsWith(" It is dropped if that takes longer than 1 s.");
            publishExpiring(publisher, "late", 1);
            await().pollDelay(Duration.ofMillis(1_100)).atMost(TestBroker.SOON).until(() -> true);
            assertThat(client.take().text()).isEqualTo("first");
            await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(copies(broker, DropReason.EXPIRED)).isEqualTo(2));
          }
        });
  }

  @Test
  @Tag("explain:inbox:expired")
  void aMessageThatExpiresBeforeItsClientIsBack() throws Exception {
    with(
        Map.of(),
        (broker, api) -> {
          absent(broker, api, "away");
          Explained stored = Explained.of(api, "client=away&topic=away&expiry=1");
          assertThat(stored.conclusion()).isEqualTo(STORED);
          assertThat(stored.reason()).endsWith(" It is dropped if that takes longer than 1 s.");
          Explained.of(api, "client=away&topic=away&expiry=0").dropsAt("expiry");
          try (RawClient publisher = online(broker, "publisher")) {
            publishExpiring(publisher, "away", 1);
            publishExpiring(publisher, "away", 0);
          }
          await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(expiredInInboxes(api)).isEqualTo(2));
        });
  }

  @Test
  void whatAMessageCannotBeIsRefused() throws Exception {
    with(
        Map.of(),
        (_, api) -> {
          for (String wrong : List.of("bytes=-1", "bytes=2097153", "bytes=many", "expiry=-2", "expiry=4294967296", "expiry=1s")) {
            assertThat(api.get("/explain?client=c&topic=t&" + wrong).status()).as(wrong).isEqualTo(400);
          }
        });
  }

  // --------------------------------------------------------------------------------------------------------- inboxes and groups

  @Test
  @Tag("explain:publish:queue-full")
  void aFullInboxThatRejects() throws Exception {
    with(
        Map.of("dunlin.inbox.bytes-max", "64KiB", "dunlin.inbox.overflow", "reject"),
        (broker, api) -> {
          absent(broker, api, "full");
          try (RawClient publisher = online(broker, "publisher")) {
            assertThat(publisher.publishAndWait("full", "x".repeat(60_000))).isZero();
            assertThat(Explained.of(api, "client=full&topic=full&bytes=100").conclusion()).isEqualTo(STORED);
            Explained rejected = Explained.of(api, "client=full&topic=full&bytes=10000");
            rejected.dropsAt("inbox");
            assertThat(rejected.reason()).contains("dunlin.inbox.bytes-max", "too many for 10,000 bytes more", "its publisher gets 0x97");
            assertThat(publisher.publishAndWait("full", "x".repeat(10_000))).isEqualTo(QUOTA_EXCEEDED);
            assertThat(broker.frontend().publishes().dropped(DropReason.QUEUE_FULL)).isEqualTo(1);
            assertThat(publisher.publishAndWait("full", "x".repeat(100))).isZero();
          }
        });
  }

  @Test
  @Tag("explain:session:no-member")
  @Tag("explain:publish:no-member")
  void aGroupOfWhichNoMemberHasRoom() throws Exception {
    with(
        Map.of("dunlin.session.queue-messages-max", "2", "dunlin.shared.wait", "200ms"),
        (broker, api) -> {
          String query = "topic=group&client=";
          try (RawClient one = slow(broker, "one", "$share/team/group");
              RawClient publisher = online(broker, "publisher")) {
            assertThat(Explained.of(api, query + "one").conclusion()).isEqualTo("delivered now");
            for (int i = 1; i <= 3; i++) assertThat(publisher.publishAndWait("group", Integer.toString(i))).isZero();

            Explained waits = Explained.of(api, query + "one");
            assertThat(waits.conclusion()).isEqualTo("waits until a member of its group takes it");
            assertThat(waits.reason())
                .isEqualTo(
                    "No member of $share/team/group has room for it. It waits for at most 200ms (dunlin.shared.wait); if no member has taken it by then, it is"
                        + " dropped, and its publisher gets 0x97.");
            assertThat(publisher.publishAndWait("group", "4")).isEqualTo(QUOTA_EXCEEDED);
            assertThat(copies(broker, DropReason.NO_MEMBER)).isEqualTo(1);
            assertThat(broker.frontend().publishes().dropped(DropReason.NO_MEMBER)).isEqualTo(1);

            try (RawClient other = online(broker, "other")) {
              other.subscribe("$share/team/group", 1);
              for (String client : List.of("one", "other")) assertThat(Explained.of(api, query + client).conclusion()).isEqualTo("one member of its group gets it");
              assertThat(publisher.publishAndWait("group", "5")).isZero();
              assertThat(other.take().text()).isEqualTo("5");
            }
            assertThat(one.take().text()).isEqualTo("1");
          }
        });
  }

  // ----------------------------------------------------------------------------------------------------------- disk and tenants

  private interface AskingWithDisk {
    /** @param low makes the disk nearly full */
    void ask(Dunlin node, ApiCalls api, AtomicBoolean low) throws Exception;
  }

  private void withDisk(AskingWithDisk asking) throws Exception {
    Path data = directory.resolve("data");
    AtomicBoolean low = new AtomicBoolean();
    var around =
        new Surroundings(InstantSource.system(), UnaryOperator.identity(), () -> Duration.ZERO, () -> low.get() ? data.toFile().getUsableSpace() - (512L << 20) : 0);
    Dunlin.Builder builder = Dunlin.builder().tcpPort(0).dataDirectory(data).surroundings(around);
    Map.of(
            "dunlin.store.disk-free-min", "1GiB", "dunlin.store.disk-critical-min", "1MiB", "dunlin.store.fsync", "false", "dunlin.admin.port", "0")
        .forEach(builder::set);
    try (Dunlin node = builder.build();
        ApiCalls api = ApiCalls.of(data)) {
      asking.ask(node, api, low);
    }
    Restarts.awaitReleased(data);
  }

  @Test
  @Tag("explain:publish:not-durable")
  void aDiskThatIsNearlyFull() throws Exception {
    withDisk(
        (node, api, low) -> {
          RawClient.connected(node.tcpPort(), Connect.of("stored").packet()).disconnectAfter(client -> client.subscribe("stored", 1));
          await().atMost(TestBroker.SOON).until(() -> api.get("/sessions/stored").member("connected").equals("false"));
          String message = "{\"topic\":\"stored\",\"payload\":\"x\",\"qos\":1}";
          assertThat(Explained.of(api, "client=stored&topic=stored").conclusion()).isEqualTo(STORED);
          assertThat(api.post("/publish", message).member("code")).isEqualTo("0");

          low.set(true);

          await().atMost(TestBroker.SOON).untilAsserted(() -> Explained.of(api, "client=stored&topic=stored").dropsAt("inbox"));
          assertThat(Explained.of(api, "client=stored&topic=stored").reason()).contains("The disk of the node that leads the sessions is nearly full", "0x80");
          assertThat(api.post("/publish", message).json().get("code").getAsInt()).isEqualTo(UNSPECIFIED_ERROR);
          assertThat(TestBroker.frontend(node).publishes().dropped(DropReason.NOT_DURABLE)).isEqualTo(1);
          assertThat(api.get("/sessions/stored").member("messages")).isEqualTo("1");
        });
  }

  @Test
  @Tag("explain:publish:not-durable")
  void aMessageToBeRetainedOnADiskThatIsNearlyFull() throws Exception {
    withDisk(
        (node, api, low) -> {
          try (RawClient client = RawClient.connected(node.tcpPort(), Connect.of("reader").expiry(0));
              RawClient publisher = RawClient.connected(node.tcpPort(), Connect.of("publisher").expiry(0))) {
            client.subscribe("kept/#", 1);
            assertThat(publisher.publishAndWait("kept/1", "first", true)).isZero();
            assertThat(client.take().text()).isEqualTo("first");
            assertThat(Explained.of(api, "client=reader&topic=kept/1&retain=true").finding("retained")).isEqualTo("It replaces the retained message that kept/1 has.");

            low.set(true);

            String refused =
                "The disk of the node that leads the retained messages is nearly full (dunlin.store.disk-free-min), so it is not retained, and its publisher gets 0x80; it goes"
                    + " to the subscribers all the same.";
            for (String topic : List.of("kept/1", "kept/2")) {
              await().atMost(TestBroker.SOON).untilAsserted(
                  () -> assertThat(Explained.of(api, "client=reader&topic=" + topic + "&retain=true").finding("retained")).isEqualTo(refused));
              assertThat(Explained.of(api, "client=reader&retain=true&topic=" + topic).conclusion()).isEqualTo("delivered now");
              assertThat(publisher.publishAndWait(topic, "second", true)).isEqualTo(UNSPECIFIED_ERROR);
              assertThat(client.take().text()).isEqualTo("second");
            }
            assertThat(TestBroker.frontend(node).publishes().dropped(DropReason.NOT_DURABLE)).isEqualTo(2);
            assertThat(api.get("/retained").members("topic")).containsExactly("kept/1");
          }
        });
  }

  // ------------------------------------------------------------------------------------------------- what a publisher may send

  @Test
  void aPacketThatIsLargerThanItsPublisherMaySendToTheByte() throws Exception {
    with(
        Map.of("dunlin.mqtt.packet-max", "1KiB", "dunlin.mqtt.topic-alias-maximum", "0"),
        (broker, api) -> {
          try (RawClient client = online(broker, "reader");
              RawClient publisher = online(broker, "publisher")) {
            client.subscribe("large", 1);
            String query = "client=reader&topic=large&publisher=publisher&bytes=";
            String half = Explained.of(api, query + 500).finding("publisher-limits");
            assertThat(half).matches("The packet has [0-9]+ bytes without its properties, and the client publisher may send at most 1,024\\.");
            int most = 1_024 - Integer.parseInt(half.replaceAll(".*has ([0-9]+) bytes.*", "$1")) + 500;

            assertThat(Explained.of(api, query + most).conclusion()).isEqualTo("delivered now");
            Explained larger = Explained.of(api, query + (most + 1));
            assertThat(larger.conclusion()).isEqualTo("not delivered");
            assertThat(larger.reason())
                .isEqualTo("The packet has 1,025 bytes without its properties, and the client publisher may send at most 1,024: its connection is closed with 0x95.");
            assertThat(Explained.of(api, "client=reader&topic=large&bytes=" + (most + 1)).conclusion()).as("the application may").isEqualTo("delivered now");

            assertThat(publisher.publishAndWait("large", "x".repeat(most))).isZero();
            assertThat(client.take().text()).isEqualTo("x".repeat(most));
            publisher.publish("large", 1, 7, "x".repeat(most + 1));
            assertThat(publisher.expect(RawClient.DISCONNECT).reason()).isEqualTo(PACKET_TOO_LARGE);
          }
        });
  }

  @Test
  void anAliasMayMakeAPacketSmallEnough() throws Exception {
    with(
        Map.of("dunlin.mqtt.packet-max", "1KiB"),
        (broker, api) -> {
          try (RawClient client = online(broker, "reader");
              RawClient publisher = online(broker, "publisher")) {
            String topic = "t".repeat(500);
            client.subscribe(topic, 1);
            Explained said = Explained.of(api, "client=reader&publisher=publisher&bytes=800&topic=" + topic);
            assertThat(said.conclusion()).isEqualTo("delivered now");
            assertThat(said.finding("publisher-limits")).endsWith("; with an alias for its topic it may fit.");
            byte[] alias = RawClient.properties(RawClient.bytes(RawClient.TOPIC_ALIAS, RawClient.u16(1)));
            publisher.send(RawClient.PUBLISH | 2, topic, RawClient.u16(7), alias, new byte[0]);
            publisher.send(RawClient.PUBLISH | 2, "", RawClient.u16(8), alias, new byte[800]);
            assertThat(client.take().text()).isEmpty();
            assertThat(client.take().text()).hasSize(800);
          }
        });
  }

  @Test
  void whatAPublisherMayNotSendByItsTopicAndQoS() throws Exception {
    with(
        Map.of("dunlin.mqtt.topic-length-max", "10", "dunlin.listeners.tcp.tenant", "blue", "dunlin.tenants.blue.limits", "qos=1"),
        (broker, api) -> {
          try (RawClient client = online(broker, "reader");
              RawClient publisher = online(broker, "publisher")) {
            client.subscribe("#", 1);
            String query = "tenant=blue&client=reader&publisher=publisher&topic=";
            Explained longer = Explained.of(api, query + "12345678901");
            assertThat(longer.conclusion()).isEqualTo("not delivered");
            assertThat(longer.reason()).isEqualTo("The topic name has 11 bytes, more than the 10 of dunlin.mqtt.topic-length-max.");
            assertThat(Explained.of(api, query + "1234567890&qos=1").conclusion()).isEqualTo("delivered now");
            Explained higher = Explained.of(api, query + "a&qos=2");
            assertThat(higher.conclusion()).isEqualTo("not delivered");
            assertThat(higher.reason()).isEqualTo("The client publisher may publish with QoS 1 at most; its connection is closed with 0x9B.");

            publisher.publish("a", 2, 7, "x");
            assertThat(publisher.expect(RawClient.DISCONNECT).reason()).isEqualTo(QOS_NOT_SUPPORTED);
          }
        });
  }

  @Test
  @Tag("explain:session:not-writable")
  void aTenantThatHasBeenSentEnough() throws Exception {
    with(
        Map.of("dunlin.listeners.tcp.tenant", "blue", "dunlin.tenants.blue.limits", "messages-out=2"),
        (broker, api) -> {
          try (RawClient client = online(broker, "limited");
              RawClient publisher = online(broker, "publisher")) {
            client.subscribe("limited", 0);
            Explained said;
            do {
              for (int i = 0; i < 20; i++) publisher.publish("limited", 0, 0, "x");
              publisher.publishAndWait("pace", "");
              said = Explained.of(api, "client=limited&topic=limited&qos=0&tenant=blue");
            } while (!said.conclusion().equals(DROPPED));
            said.dropsAt("queue");
            assertThat(said.reason()).isEqualTo("The clients of the tenant blue have been sent as much as messages-out and bytes-out allow, and a message of QoS 0 does not wait.");
            assertThat(copies(broker, DropReason.NOT_WRITABLE)).isPositive();
          }
        });
  }

  @Test
  void thePublisherOfATenantThatIsSuspended() throws Exception {
    with(
        Map.of("dunlin.auth.users.enabled", "true", "dunlin.tenants.from-user-name", "true"),
        (broker, api) -> {
          AccessMXBean access = broker.bean("Access", AccessMXBean.class);
          access.putRole("all", "allow all #", -1);
          access.putUser("alice@blue", "alice", "all", true, -1);
          TenantsMXBean tenants = broker.bean("Tenants", TenantsMXBean.class);
          tenants.putTenant("blue", "", -1);
          byte[] connect = RawClient.connect(5, 0xC0, 0, RawClient.properties(RawClient.sessionExpiry(3_600)), "there", "alice@blue", "alice");
          RawClient.connected(broker.port(), connect).disconnectAfter(client -> client.subscribe("t", 1));
          String query = "client=there&topic=t&publisher=other&tenant=blue";
          assertThat(Explained.of(api, query).finding("publisher-rules")).startsWith("The publisher other is not connected");

          tenants.suspendTenant("blue", -1);

          await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(Explained.of(api, query).conclusion()).isEqualTo("not delivered"));
          assertThat(Explained.of(api, query).reason()).isEqualTo("The tenant blue is suspended or being deleted, so the publisher other may not connect.");
        });
  }
}
