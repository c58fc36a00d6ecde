package dunlin.operating;

import static dunlin.harness.Followed.what;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.admin.peers.TracesMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.ApiEvents;
import dunlin.harness.Followed;
import dunlin.harness.Followed.Line;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.model.ReasonCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a trace says about real messages, beside what the counters say. */
class TraceIT {
  private static final int NO_LOCAL = 4;
  private static final int QUOTA_EXCEEDED = 0x97;

  @TempDir static Path directory;

  private static TestBroker broker;
  private static ApiCalls api;
  private static String viewer;

  @BeforeAll
  static void start() throws IOException {
    viewer = AdminTokens.create();
    Path tokens = Files.writeString(directory.resolve("tokens"), AdminTokens.line("viewer", Role.VIEWER, viewer) + "\n");
    broker =
        TestBroker.on(
            directory.resolve("data"),
            Map.of(
                "dunlin.admin.token-file", tokens.toString(), "dunlin.retain.messages-max", "1", "dunlin.mqtt.payload-format-check", "true",
                "dunlin.mqtt.receive-maximum", "2", "dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    api = ApiCalls.of(directory.resolve("data"));
  }

  @AfterAll
  static void stop() {
    api.close();
    broker.close();
  }

  private static List<String> steps(List<Line> lines) {
    return lines.stream().map(line -> line.hop() + " " + line.step()).toList();
  }

  private static List<Line> of(String hop, List<Line> lines) {
    return lines.stream().filter(line -> line.hop().equals(hop)).toList();
  }

  private static RawClient online(String clientId) {
    return RawClient.connected(broker.port(), Connect.of(clientId).expiry(0));
  }

  private static int publish(String topic, String payload) {
    try (var publisher = online("publisher")) {
      return publisher.publishAndWait(topic, payload);
    }
  }

  // ------------------------------------------------------------------------------------------------------------- the way

  @Test
  void aMessageIsFollowedFromSocketToSocket() {
    try (var subscriber = online("sub");
        var publisher = online("pub");
        Followed trace = Followed.topic(api, "way/#")) {
      subscriber.subscribe("way/+", 1);
      publisher.publishAndWait("way/1", "payload");
      subscriber.take();

      trace.until("publish answered success");
      List<Line> lines = trace.until("session delivered");
      assertThat(steps(lines).subList(0, 5)).containsExactly("publish received", "publish handed-on", "routes forwarded", "session received", "session sent");
      assertThat(steps(lines)).hasSize(7);
      assertThat(of("routes", lines)).extracting(Line::reason).containsExactly(broker.node().nodeId() + " way/+");
      assertThat(lines).extracting(Line::topic).containsOnly("way/1");
      assertThat(lines).extracting(Line::publisher).containsOnly("pub");
      assertThat(of("session", lines)).extracting(Line::client).containsOnly("sub");
    }
  }

  @Test
  void withQoS0ItIsDeliveredOnceItIsWritten() {
    try (var subscriber = online("sub");
        var publisher = online("pub");
        Followed trace = Followed.topic(api, "zero")) {
      subscriber.subscribe("zero", 0);
      publisher.publish("zero", 0, 0, "payload");
      subscriber.take();

      assertThat(steps(trace.until("session delivered")))
          .containsExactly("publish received", "publish handed-on", "routes forwarded", "session received", "session delivered");
    }
  }

  @Test
  void withoutSubscribersThePublisherHearsIt() {
    try (Followed trace = Followed.topic(api, "unheard")) {
      publish("unheard", "payload");

      assertThat(what(trace.until(line -> line.step().equals("answered"))))
          .containsExactly("publish received", "publish handed-on", "routes unmatched", "publish answered " + ReasonCode.NO_MATCHING_SUBSCRIBERS.label());
    }
  }

  @Test
  void whatWaitsForItsClientIsQueuedAndWhatTheInboxKeepsIsReturned() {
    try (Followed trace = Followed.topic(api, "durable")) {
      try (var subscriber = RawClient.connected(broker.port(), Connect.of("durable").receiveMaximum(1))) {
        subscriber.subscribe("durable", 1);
        publish("durable", "1");
        publish("durable", "2");
        assertThat(of("inbox", trace.until("session queued"))).extracting(Line::step, Line::client).containsOnly(tuple("stored", "durable"));
      }
      trace.until("session returned");
      try (var back = RawClient.connected(broker.port(), Connect.of("durable"))) {
        back.take();
        back.take();
        trace.until("session delivered");
      }
    }
  }

  @Test
  void aRetainedMessageIsNotedAndSoIsWhyOneIsNot() {
    try (Followed trace = Followed.topic(api, "kept/#");
        var publisher = online("pub")) {
      publisher.publishAndWait("kept/1", "payload", true);
      assertThat(what(trace.until("publish retained"))).contains("publish received", "publish handed-on");

      assertThat(publisher.publishAndWait("kept/2", "payload", true)).isEqualTo(QUOTA_EXCEEDED);
      List<Line> lines = trace.until("publish not-retained quota-exceeded");
      assertThat(lines).filteredOn(line -> line.step().equals("not-retained")).extracting(Line::topic).containsExactly("kept/2");
      publisher.publishAndWait("kept/1", "", true);
    }
  }

  @Test
  void aMessageThatIsAgainstTheRulesOfMqttIsRefused() {
    try (Followed trace = Followed.topic(api, "refused");
        var publisher = online("pub")) {
      publisher.publish("refused", 2, 5, "its exchange goes on");
      publisher.next(RawClient.PUBREC);
      publisher.publish("refused", 1, 5, "the same packet identifier");
      assertThat(publisher.next(RawClient.PUBACK).reason()).isEqualTo(ReasonCode.PACKET_IDENTIFIER_IN_USE.code());

      assertThat(what(trace.lines()).getLast()).isEqualTo("publish refused packet-identifier-in-use");
    }
  }

  @Test
  void aMessageWhosePayloadIsNotTheTextThatItClaimsToBeIsRefused() {
    try (Followed trace = Followed.topic(api, "not-text");
        var publisher = online("pub")) {
      byte[] text = RawClient.bytes(RawClient.PAYLOAD_FORMAT, 1);
      publisher.send(RawClient.PUBLISH | 2, "not-text", RawClient.u16(9), RawClient.properties(text), new byte[] {(byte) 0xFF});
      assertThat(publisher.next(RawClient.PUBACK).reason()).isEqualTo(ReasonCode.PAYLOAD_FORMAT_INVALID.code());

      assertThat(what(trace.lines())).containsExactly("publish refused payload-format-invalid");
    }
  }

  @Test
  void aMessageOfAClientToTheTopicsOfTheServerIsRefused() {
    try (Followed trace = Followed.topic(api, "$SYS/#")) {
      assertThat(publish("$SYS/mine", "payload")).isEqualTo(ReasonCode.NOT_AUTHORIZED.code());

      trace.until(line -> line.what().equals("publish refused not-authorized") && line.topic().equals("$SYS/mine"));
    }
  }

  @Test
  void aMessageBeyondReceiveMaximumIsRefused() {
    try (Followed trace = Followed.topic(api, "too-many");
        var publisher = online("pub")) {
      for (int i = 1; i <= 3; i++) publisher.publish("too-many", 2, i, "its exchange goes on");
      publisher.awaitClosed();

      assertThat(what(trace.lines()).getLast()).isEqualTo("publish refused receive-maximum-exceeded");
    }
  }

  @Test
  void anOwnMessageIsLeftOutByNoLocal() {
    try (Followed trace = Followed.topic(api, "own");
        var client = online("own")) {
      client.subscribe("own", 1 | NO_LOCAL);
      client.publishAndWait("own", "payload");

      assertThat(trace.until("session left-out no-local")).filteredOn(line -> line.hop().equals("session")).extracting(Line::client).containsExactly("own");
    }
  }

  @Test
  void aWillIsFollowed() {
    try (Followed trace = Followed.topic(api, "will")) {
      RawClient.connected(broker.port(), Connect.of("dying").expiry(0).will("will", "payload", 1, 0)).reset();

      assertThat(trace.until(line -> line.step().equals("answered"))).extracting(Line::publisher).containsOnly("dying");
    }
  }

  // ---------------------------------------------------------------------------------------------------------- what is followed

  @Test
  void aClientIsFollowedWhereItPublishesAndWhereItReceives() {
    try (var client = online("followed");
        var other = online("other");
        Followed trace = Followed.by(api, "client", "followed")) {
      for (var each : List.of(client, other)) each.subscribe("both", 0);
      client.publishAndWait("both", "mine");
      other.publishAndWait("both", "theirs");
      other.publishAndWait("elsewhere", "theirs");
      List<Line> lines = trace.until(line -> line.publisher().equals("other") && line.step().equals("delivered"));

      assertThat(lines.stream().filter(line -> line.publisher().equals("other"))).extracting(Line::client).containsOnly("followed");
      assertThat(lines.stream().filter(line -> line.publisher().equals("followed") && line.hop().equals("session")).map(Line::client))
          .as("also where others receive what it publishes").contains("followed", "other");
      assertThat(lines).extracting(Line::topic).containsOnly("both");
    }
  }

  @Test
  void anAddressIsFollowed() {
    try (Followed here = Followed.by(api, "remoteAddress", "127.0.0.1");
        Followed elsewhere = Followed.by(api, "remoteAddress", "10.0.0.1")) {
      publish("from/here", "payload");

      here.until(line -> line.topic().equals("from/here") && line.step().equals("answered"));
      assertThat(elsewhere.lines()).isEmpty();
    }
  }

  @Test
  void anotherTenantIsNotFollowed() {
    Answer begun = api.post("/traces", "{\"topic\":\"#\",\"tenant\":\"another\"}");
    try (Followed trace = new Followed(api, begun.member("trace"))) {
      publish("tenants", "payload");
      assertThat(trace.lines()).isEmpty();
    }
  }

  // ----------------------------------------------------------------------------------------------------------- by the API

  @Test
  void linesComeInPartsAndByAStreamThatEndsWithTheTrace() throws Exception {
    Followed trace = Followed.topic(api, "parts");
    try (ApiEvents events = api.events("/traces/" + trace.id())) {
      assertThat(events.status()).isEqualTo(200);
      publish("parts", "payload");
      assertThat(events.next().get("step").getAsString()).isEqualTo("received");
      trace.until(line -> line.step().equals("answered"));

      String lines = "/traces/" + trace.id() + "/lines";
      Answer first = api.get(lines + "?limit=3");
      assertThat(first.json().getAsJsonArray("lines")).hasSize(3);
      assertThat(first.json().get("running").getAsBoolean()).isTrue();
      Answer second = api.get(lines + "?cursor=" + first.member("next"));
      assertThat(second.json().getAsJsonArray("lines").asList().stream().map(Line::of).map(Line::step)).containsExactly("answered");
      assertThat(api.get(lines + "?cursor=" + second.member("next")).json().getAsJsonArray("lines")).isEmpty();
      assertThat(api.get("/traces").members("trace")).contains(trace.id());

      trace.close();
      assertThat(events.ends()).isTrue();
      assertThat(api.get(lines).json().get("running").getAsBoolean()).isFalse();
    }
  }

  @Test
  void beansSayTheSame() {
    TracesMXBean traces = broker.bean("Traces", TracesMXBean.class);
    String id = traces.start("default", "", "beans", "", 1).trace();
    publish("beans", "payload");
    new Followed(api, id).until(line -> line.step().equals("answered"));

    assertThat(traces.read(id, "", 10).lines()).extracting(TracesMXBean.TraceLine::step).isEqualTo(new Followed(api, id).lines().stream().map(Line::step).toList());
    assertThat(traces.list().traces()).extracting(TracesMXBean.TraceRow::trace).contains(id);
    assertThat(traces.stop(id)).isTrue();
    assertThat(traces.stop(id)).isFalse();
  }

  @Test
  void aViewerReadsButStartsNone() {
    try (Followed trace = Followed.topic(api, "viewed");
        ApiCalls asked = api.with(viewer)) {
      assertThat(asked.get("/traces/" + trace.id() + "/lines").status()).isEqualTo(200);
      assertThat(asked.post("/traces", "{\"topic\":\"viewed\"}").status()).isEqualTo(403);
      assertThat(asked.delete("/traces/" + trace.id()).status()).isEqualTo(403);
    }
  }

  @Test
  void noMoreThanFourRunAtATime() {
    List<Followed> running = new ArrayList<>();
    for (int i = 0; i < 4; i++) running.add(Followed.topic(api, "t" + i));

    Answer refused = api.post("/traces", "{\"topic\":\"more\"}");
    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.member("detail")).contains("4 traces run already");
    running.forEach(Followed::close);
    Followed.topic(api, "more").close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}", "{\"topic\":\"a/#/b\"}", "{\"topic\":\"$share/g/a\"}", "{\"remoteAddress\":\"host.example\"}", "{\"topic\":\"a\",\"minutes\":0}",
        "{\"topic\":\"a\",\"minutes\":61}", "{\"topic\":\"a\",\"tenant\":\"\"}", "{\"topic\":\"a\",\"payload\":\"x\"}"
      })
  void whatCannotBeFollowedIsRefused(String body) {
    Answer answer = api.post("/traces", body);
    assertThat(answer.status()).isEqualTo(400);
    assertThat(answer.member("detail")).isNotBlank();
  }

  @Test
  void aTraceThatIsNotThereIsNotFound() {
    assertThat(api.get("/traces/none/lines").status()).isEqualTo(404);
    assertThat(api.delete("/traces/none").status()).isEqualTo(404);
    try (ApiEvents events = api.events("/traces/none")) {
      assertThat(events.status()).isEqualTo(404);
    }
    try (Followed trace = Followed.topic(api, "a")) {
      assertThat(api.get("/traces/" + trace.id() + "/lines?cursor=~").status()).isEqualTo(400);
      assertThat(api.get("/traces/" + trace.id() + "/lines?cursor=eA").status()).as("an x, which no part has given").isEqualTo(400);
      assertThat(api.get("/traces/" + trace.id() + "/lines?limit=1001").status()).isEqualTo(400);
    }
  }
}
