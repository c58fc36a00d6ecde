package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.SettingsMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import javax.management.JMX;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the admin API sees and does, beside JMX and MQTT clients. */
class AdminApiIT {
  private static final int ADMINISTRATIVE_ACTION = 0x98;

  @TempDir Path data;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  @Test
  void onlyTheNodesUserCanReadItsToken() throws Exception {
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(data.resolve("admin-access")))).isEqualTo("rw-------");
  }

  @Test
  void theStatusIsThatOfTheProbesAndOfJmx() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of("meter-1"))) {
      client.publishAndWait("a", "kept", true);
      await().atMost(TestBroker.SOON).until(() -> api.get("/status").json().get("connections").getAsInt() == 1);

      Answer status = api.get("/status");

      assertThat(status.status()).isEqualTo(200);
      assertThat(status.type()).isEqualTo("application/json");
      assertThat(status.member("node")).isEqualTo(broker.node().nodeId());
      assertThat(status.member("readiness")).isEqualTo("ready");
      assertThat(status.json().get("healthy").getAsBoolean()).isTrue();
      assertThat(status.member("role")).isEqualTo("admin");
      assertThat(status.json().get("sessions").getAsInt()).isEqualTo(broker.bean("Sessions", SessionsMXBean.class).getSessions()).isEqualTo(1);
      assertThat(status.json().get("retained").getAsLong()).isEqualTo(broker.bean("RetainedMessages", RetainedMessagesMXBean.class).getTopics()).isEqualTo(1);
    }
  }

  @Test
  void settingsHaveTheirSourceAndComeInPages() throws Exception {
    var effective = broker.bean("Settings", SettingsMXBean.class).getEffective();
    Answer all = api.get("/settings?limit=1000");
    assertThat(all.members("key")).containsExactlyElementsOf(effective.keySet().stream().sorted().toList());
    assertThat(all.member("next")).isEmpty();

    Answer fsync = api.get("/settings?prefix=dunlin.store.fsync");
    assertThat(fsync.members("value")).containsExactly("false");
    assertThat(fsync.members("source")).allMatch(source -> source.contains("builder"));
    assertThat(api.get("/settings?prefix=dunlin.health.port").members("source")).containsExactly("default");

    Answer first = api.get("/settings?limit=2");
    Answer second = api.get("/settings?limit=2&cursor=" + first.member("next"));
    assertThat(first.members("key")).isEqualTo(all.members("key").subList(0, 2));
    assertThat(second.members("key")).isEqualTo(all.members("key").subList(2, 4));
  }

  @Test
  void listenersAndReplicasAreListed() {
    try (var client = RawClient.connected(broker.port(), Connect.of("meter-1"))) {
      client.publishAndWait("a", "b");
      assertThat(api.get("/listeners").members("name")).containsExactly("tcp");
      assertThat(api.get("/listeners").members("address")).allMatch(address -> address.endsWith(":" + broker.port()));
      assertThat(api.get("/listeners").members("connections")).containsExactly("1");
      assertThat(api.get("/replicas").members("role")).isNotEmpty().allMatch("leader"::equals);
    }
  }

  @Test
  void sessionsAreListedShownDisconnectedAndDeleted() {
    for (String id : List.of("meter-2", "meter-1", "meter/3 +ü", "van-1")) {
      RawClient.connected(broker.port(), Connect.of(id)).disconnectAfter(each -> each.subscribe("to/" + id.charAt(0), 1));
    }
    try (var client = RawClient.connected(broker.port(), Connect.of("online"))) {
      client.publishAndWait("to/m", "0123456789");

      Answer first = api.get("/sessions?prefix=meter&limit=2");
      assertThat(first.members("clientId")).containsExactly("meter-1", "meter-2");
      assertThat(first.members("messages")).containsExactly("1", "1");
      assertThat(api.get("/sessions?prefix=meter&limit=2&cursor=" + first.member("next")).members("clientId")).containsExactly("meter/3 +ü");
      assertThat(api.get("/sessions?tenant=another").members("clientId")).isEmpty();
      assertThat(api.get("/sessions/meter%2F3%20+%C3%BC").member("clientId")).isEqualTo("meter/3 +ü");
      assertThat(api.get("/sessions/meter").status()).as("the beginning of a client identifier").isEqualTo(404);

      assertThat(api.post("/sessions/van-1/disconnect", "{}").status()).as("not connected").isEqualTo(409);
      assertThat(api.post("/sessions/none/disconnect", "{}").status()).isEqualTo(404);
      assertThat(api.post("/sessions/online/disconnect", "").status()).isEqualTo(200);
      assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
    }

    assertThat(api.delete("/sessions/meter").status()).as("the beginning of a client identifier").isEqualTo(404);
    assertThat(api.delete("/sessions/van-1").status()).isEqualTo(200);
    assertThat(api.delete("/sessions/van-1").status()).isEqualTo(404);
    assertThat(api.delete("/sessions").status()).as("without a prefix").isEqualTo(400);
    assertThat(api.delete("/sessions?prefix=meter-").json().get("deleted").getAsInt()).isEqualTo(2);
    assertThat(api.get("/sessions?prefix=meter").members("clientId")).containsExactly("meter/3 +ü");
  }

  @Test
  void retainedMessagesAreListedShownAndDeleted() {
    try (var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
      for (String topic : List.of("a", "a/b", "a/b/c", "z")) client.publishAndWait(topic, "payload of " + topic, true);
    }

    Answer first = api.get("/retained?prefix=a&limit=2");
    assertThat(first.members("topic")).containsExactly("a", "a/b");
    assertThat(api.get("/retained?prefix=a&limit=2&cursor=" + first.member("next")).members("topic")).containsExactly("a/b/c");
    Answer shown = api.get("/retained/message?topic=a/b");
    assertThat(new String(Base64.getDecoder().decode(shown.member("payload")), StandardCharsets.UTF_8)).isEqualTo("payload of a/b");
    assertThat(shown.json().get("payloadBytes").getAsInt()).isEqualTo("payload of a/b".length());
    assertThat(api.get("/retained/message?topic=a/none").status()).isEqualTo(404);
    assertThat(api.get("/retained/message?topic=a/%23").status()).as("a filter").isEqualTo(400);

    assertThat(api.delete("/retained/message?topic=a").status()).isEqualTo(200);
    assertThat(api.delete("/retained/message?topic=a").status()).isEqualTo(404);
    assertThat(api.delete("/retained?prefix=a/").json().get("deleted").getAsInt()).isEqualTo(2);
    assertThat(api.get("/retained").members("topic")).containsExactly("z");

    try (var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
      for (String topic : List.of("a/1/x", "a/2/x", "a/2/y", "$a/1")) client.publishAndWait(topic, "payload", true);
    }
    assertThat(api.delete("/retained?filter=a/%2B/x&max=1").json().get("deleted").getAsInt()).isEqualTo(1);
    assertThat(api.delete("/retained?filter=a/%2B/x").json().get("deleted").getAsInt()).isEqualTo(1);
    assertThat(api.get("/retained").members("topic")).containsExactly("$a/1", "a/2/y", "z");
    assertThat(api.delete("/retained?filter=%23").json().get("deleted").getAsInt()).isEqualTo(2);
    assertThat(api.get("/retained").members("topic")).containsExactly("$a/1");
    for (String wrong : List.of("", "?prefix=a&filter=b", "?filter=a/%23/b")) assertThat(api.delete("/retained" + wrong).status()).as(wrong).isEqualTo(400);
  }

  @Test
  void publishedMessagesReachTheirSubscribers() {
    try (var subscriber = RawClient.connected(broker.port(), Connect.of("s"))) {
      subscriber.subscribe("news/#", 1);

      Answer text = api.post("/publish", "{\"topic\":\"news/a\",\"payload\":\"grüße\",\"qos\":1}");
      Answer bytes = api.post("/publish", "{\"topic\":\"news/b\",\"payloadBase64\":\"AP8=\",\"qos\":0}");
      Answer unmatched = api.post("/publish", "{\"topic\":\"elsewhere\",\"payload\":\"x\"}");

      assertThat(text.member("reason")).isEqualTo("success");
      assertThat(bytes.member("reason")).isEqualTo("success");
      assertThat(unmatched.member("reason")).isEqualTo("no-matching-subscribers");
      assertThat(subscriber.next(RawClient.PUBLISH).text()).isEqualTo("grüße");
      assertThat(subscriber.next(RawClient.PUBLISH).text()).hasSize(2);
    }
    assertThat(api.post("/publish", "{\"topic\":\"a/#\"}").status()).isEqualTo(400);
    assertThat(api.post("/publish", "{\"topic\":\"$SYS/broker\"}").status()).isEqualTo(400);
    assertThat(api.post("/publish", "{\"topic\":\"a\",\"payload\":\"x\",\"payloadBase64\":\"AP8=\"}").status()).isEqualTo(400);
    assertThat(api.post("/publish", "{\"topic\":\"a\",\"payloadBase64\":\"~\"}").status()).isEqualTo(400);
  }

  @Test
  void aDrainMakesTheNodeNotReady() {
    assertThat(api.put("/drain", "{\"serverReference\":\"other:1883\",\"connectionsPerSecond\":10}").status()).isEqualTo(200);
    assertThat(api.get("/status").member("readiness")).isEqualTo("draining");
    assertThat(api.delete("/drain").status()).isEqualTo(200);
    assertThat(api.get("/status").member("readiness")).isEqualTo("ready");
  }

  @Test
  void whatTheNodeDoesNotHaveIsRefusedWithTheReason() {
    Answer cluster = api.get("/cluster/nodes");
    assertThat(cluster.status()).isEqualTo(409);
    assertThat(cluster.type()).isEqualTo("application/problem+json");
    assertThat(cluster.member("detail")).isEqualTo("This node belongs to no cluster.");
    assertThat(api.get("/loggers").member("detail")).contains("application that embeds this node");
  }
}
