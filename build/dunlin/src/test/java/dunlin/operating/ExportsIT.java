package dunlin.operating;

import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBLISH;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.TestBroker;
import dunlin.admin.api.Endpoints;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.ExportsMXBean.Imported;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.PacketBytes;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Retained messages that leave a broker as lines and come back, by the admin API and by JMX, as clients then receive them. */
class ExportsIT {
  private static final int MESSAGES_MAX = 2_000;
  private static final int LARGE = 700_000;

  @TempDir Path data;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() {
    broker =
        TestBroker.on(
            data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.retain.messages-max", Integer.toString(MESSAGES_MAX)));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  /** All lines of an export, as its pages have them. */
  private List<String> exported(String filter, int limit) {
    List<String> lines = new ArrayList<>(List.of(Endpoints.EXPORT_HEADER));
    String next = "";
    do {
      Answer page = api.get("/retained/export?filter=" + filter + "&limit=" + limit + "&cursor=" + next);
      assertThat(page.status()).as(page.text()).isEqualTo(200);
      for (JsonElement row : page.json().getAsJsonArray("items")) lines.add(row.toString());
      next = page.member("next");
    } while (!next.isEmpty());
    return lines;
  }

  private Answer imported(List<String> lines, String existing) {
    JsonObject body = new JsonObject();
    body.addProperty("lines", String.join("\n", lines));
    body.addProperty("existing", existing);
    return api.post("/retained/import", body.toString());
  }

  private static String line(String topic, String payload, String... more) {
    return "{\"topic\":\"%s\",\"payload\":\"%s\"%s}".formatted(topic, base64(payload), String.join("", more));
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static List<String> file(String... lines) {
    List<String> all = new ArrayList<>(List.of(Endpoints.EXPORT_HEADER));
    all.addAll(List.of(lines));
    return all;
  }

  private static void counts(Answer answer, int imported, int kept, int expired) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.member("imported")).isEqualTo(Integer.toString(imported));
    assertThat(answer.member("kept")).isEqualTo(Integer.toString(kept));
    assertThat(answer.member("expired")).isEqualTo(Integer.toString(expired));
  }

  private void publish(String... topics) {
    try (var client = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      for (String topic : topics) assertThat(client.publishAndWait(topic, "of " + topic, true)).isLessThan(0x80);
    }
  }

  /** What a new subscriber receives, by its topic. */
  private List<String> received(String filter, int messages) {
    List<String> received = new ArrayList<>();
    try (var client = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0))) {
      client.subscribe(filter, 1);
      for (int i = 0; i < messages; i++) {
        Message message = client.take();
        received.add(message.topic() + " " + message.text());
      }
    }
    return received;
  }

  @Test
  void whatIsExportedAndDeletedComesBackWhole() {
    byte[] properties = PacketBytes.properties(
        PacketBytes.bytes(PacketBytes.CONTENT_TYPE, "text/plain"), PacketBytes.bytes(PacketBytes.USER_PROPERTY, "line", "7"),
        PacketBytes.bytes(PacketBytes.USER_PROPERTY, "line", "8"));
    publish("plant/1", "plant/1/state", "plant/2", "other", "$plant");
    try (var client = RawClient.connected(broker.port(), Connect.of("van-8").expiry(0))) {
      client.send(PUBLISH | 3, "plant/3", PacketBytes.u16(1), properties, "with properties".getBytes(StandardCharsets.UTF_8));
      assertThat(client.next(PUBACK).reason()).isLessThan(0x80);
    }

    List<String> lines = exported("%23", 2);
    assertThat(lines).hasSize(6).isEqualTo(exported("%23", 500));
    assertThat(exported("plant/%2B", 500)).hasSize(4);
    assertThat(exported("%24plant", 500)).as("# matches no topics that begin with $").hasSize(2);
    assertThat(api.delete("/retained?prefix=&max=1000").status()).as("no prefix").isEqualTo(400);
    for (String prefix : List.of("plant", "other")) assertThat(api.delete("/retained?prefix=" + prefix).status()).isEqualTo(200);
    assertThat(exported("%23", 500)).hasSize(1);

    counts(imported(lines, "keep"), 5, 0, 0);

    assertThat(exported("%23", 500)).isEqualTo(lines);
    assertThat(received("plant/#", 4)).containsExactly("plant/1 of plant/1", "plant/1/state of plant/1/state", "plant/2 of plant/2", "plant/3 with properties");
    try (var client = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0))) {
      client.subscribe("plant/3", 1);
      Message message = client.take();
      assertThat(message.retain()).isTrue();
      assertThat(message.qos()).isEqualTo(1);
      assertThat(message.texts(PacketBytes.CONTENT_TYPE)).containsExactly("text/plain");
      assertThat(message.propertyList()).hasSize(3);
    }
  }

  @Test
  void anImportKeepsOrReplacesWhatIsThereAndCanBeRepeated() {
    publish("a", "b");
    List<String> lines = file(line("a", "imported"), line("c", "imported"));

    counts(imported(lines, "keep"), 1, 1, 0);
    counts(imported(lines, "keep"), 0, 2, 0);
    assertThat(received("#", 3)).containsExactly("a of a", "b of b", "c imported");

    counts(imported(lines, "replace"), 2, 0, 0);
    counts(imported(lines, "replace"), 2, 0, 0);
    assertThat(received("#", 3)).containsExactly("a imported", "b of b", "c imported");
    assertThat(imported(lines, "merge").status()).isEqualTo(400);
  }

  @Test
  void subscribersAreNotSentWhatIsImported() {
    try (var subscriber = RawClient.connected(broker.port(), Connect.of("s").expiry(0))) {
      subscriber.subscribe("#", 1);
      counts(imported(file(line("a", "imported")), "replace"), 1, 0, 0);
      publish("b");
      assertThat(subscriber.take().topic()).isEqualTo("b");
    }
  }

  @Test
  void aMessageExpiresWhenItWouldHave() {
    byte[] hour = {PacketBytes.MESSAGE_EXPIRY, 0, 0, 0x0E, 0x10};
    String expiry = ",\"properties\":\"" + Base64.getEncoder().encodeToString(hour) + "\",\"acceptedAt\":\"%s\"";
    Instant now = Instant.now();

    counts(imported(file(line("old", "x", expiry.formatted(now.minusSeconds(4_000))), line("new", "x", expiry.formatted(now.minusSeconds(1_000)))), "keep"), 1, 0, 1);

    try (var client = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0))) {
      client.subscribe("new", 1);
      assertThat(client.take().numbers(PacketBytes.MESSAGE_EXPIRY).getFirst()).as("seconds that are left").isBetween(1L, 2_600L);
    }
    assertThat(exported("%23", 10)).hasSize(2);
  }

  @Test
  void aWrongLineIsNamedAndNothingOfTheRequestIsDone() {
    Map<String, String> wrong =
        Map.ofEntries(
            Map.entry("{\"payload\":\"eA==\"}", "empty topic name"),
            Map.entry("{\"topic\":\"x\"}", "there is no payload"),
            Map.entry(line("a/#", "x"), "wildcards"),
            Map.entry(line("$SYS/x", "x"), "only the server publishes to $SYS"),
            Map.entry(line("x", "x", ",\"qos\":3"), "QoS 3"),
            Map.entry(line("x", "x", ",\"acceptedAt\":\"yesterday\""), "acceptedAt"),
            Map.entry(line("x", "x", ",\"acceptedAt\":\"+999999999-01-01T00:00:00Z\""), "acceptedAt"),
            Map.entry(line("x", "x", ",\"properties\":\"~\""), "the properties are not in Base64"),
            Map.entry(line("x", "x", ",\"properties\":\"IwAB\""), "Topic Alias in a message"),
            Map.entry(line("x", "x", ",\"publisher\":\"\\u0000\""), "no client identifier"),
            Map.entry("{\"topic\":\"x\",\"payload\":\"~\"}", "the payload is not in Base64"),
            Map.entry("topic,payload", "it is not a JSON object"),
            Map.entry(line("x", "x".repeat(1_100_000)), "the limit is 1048576"));
    wrong.forEach(
        (line, why) -> {
          Answer answer = imported(file(line("good", "x"), line, line("good/2", "x")), "replace");
          assertThat(answer.status()).as(why).isEqualTo(400);
          assertThat(answer.member("detail")).startsWith("Line 3: ").contains(why);
        });
    assertThat(imported(List.of(line("good", "x")), "keep").member("detail")).startsWith("Line 1: ");
    assertThat(api.get("/retained").members("topic")).isEmpty();

    JsonObject part = new JsonObject();
    part.addProperty("lines", Endpoints.EXPORT_HEADER + "\n" + line("good", "x") + "\nnone");
    part.addProperty("firstLine", 1_000_000_000_000L);
    assertThat(api.post("/retained/import", part.toString()).member("detail")).startsWith("Line 1000000000001: ");
    assertThat(api.get("/retained/export?filter=a/%23/b").status()).isEqualTo(400);
    assertThat(api.get("/retained/export?cursor=~").status()).isEqualTo(400);
    assertThat(api.get("/retained/export?cursor=AAAA").status()).as("no key of this tenant").isEqualTo(200);
    assertThat(api.get("/retained/export?tenant=%23").status()).isEqualTo(400);
  }

  @Test
  void limitsHoldAndTheAnswerSaysHowFarTheImportWent() {
    List<String> lines = file(IntStream.rangeClosed(1, MESSAGES_MAX + 100).mapToObj(i -> line("t/" + i, "x")).toArray(String[]::new));

    Answer refused = imported(lines, "keep");

    assertThat(refused.status()).isEqualTo(409);
    assertThat(refused.member("detail"))
        .isEqualTo("Line %d was refused as quota-exceeded; of the lines up to %d, %d were imported, and 0 topics kept theirs.".formatted(MESSAGES_MAX + 2, 2_049, MESSAGES_MAX));
    assertThat(exported("%23", 500)).hasSize(1 + MESSAGES_MAX);
  }

  @Test
  void largeMessagesAndManySmallOnesPass() {
    String large = "x".repeat(LARGE);
    counts(imported(file(line("large", large), line("large/2", large), line("small", "x")), "keep"), 3, 0, 0);

    Answer first = api.get("/retained/export?limit=500");
    assertThat(first.json().getAsJsonArray("items")).as("a page ends behind 512 KiB").hasSize(1);
    assertThat(exported("%23", 500)).hasSize(4);
    assertThat(api.post("/retained/import", "{\"lines\":\"" + "x".repeat(4_200_000) + "\"}").status()).isEqualTo(413);
    assertThat(api.post("/retained/import", "{\"lines\":\"" + "x".repeat(3_500_000) + "\"}").status()).isEqualTo(400);
    assertThat(api.post("/publish", "{\"topic\":\"a\",\"payload\":\"" + "x".repeat(600_000) + "\"}").status()).as("other bodies").isEqualTo(413);
  }

  @Test
  void jmxDoesTheSame() throws Exception {
    publish("a", "b");
    ExportsMXBean bean = broker.bean("Exports", ExportsMXBean.class);

    ExportsMXBean.ExportPage page = bean.exportRetained("default", "#", "", 1);
    assertThat(page.messages()).extracting(ExportsMXBean.RetainedExport::topic).containsExactly("a");
    assertThat(bean.exportRetained("default", "#", page.next(), 500).messages()).extracting(ExportsMXBean.RetainedExport::publisher).containsExactly("van-7");
    Imported imported = bean.importRetained("default", "keep", String.join("\n", file(line("a", "x"), line("c", "x"))), 2);
    assertThat(imported).isEqualTo(new Imported(1, 1, 0));
    assertThatThrownBy(() -> bean.importRetained("default", "keep", "", 2)).hasMessageContaining("there is no line");
    assertThatThrownBy(() -> bean.exportRetained("default", "#", "", 501)).hasMessageContaining("from 1 to 500");
    assertThat(api.get("/retained").members("topic")).containsExactly("a", "b", "c");
  }
}
