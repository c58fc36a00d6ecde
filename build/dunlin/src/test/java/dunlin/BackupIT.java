package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.Dunlinctl;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Backups of a broker that runs alone, and the brokers that begin with them. */
class BackupIT {
  private static final int NO_SUBSCRIBERS = 0x10;
  private static final int PACKET = 700;
  private static final String END = "end";

  @TempDir private Path directory;

  private Path backups() {
    return directory.resolve("backups");
  }

  private Path backup(String name) {
    return backups().resolve(name);
  }

  private TestBroker broker(String data, String... more) {
    var settings = new TreeMap<>(Map.of("dunlin.admin.port", "0", "dunlin.backup.directory", backups().toString()));
    for (int i = 0; i < more.length; i += 2) settings.put(more[i], more[i + 1]);
    return TestBroker.on(directory.resolve(data), settings);
  }

  private ApiCalls api(String data) {
    return ApiCalls.of(directory.resolve(data));
  }

  /** Makes a backup, and waits for its end. */
  private static Answer backUp(ApiCalls api, String name) {
    Answer begun = api.post("/backup/" + name, "{}");
    assertThat(begun.status()).as(begun.text()).isEqualTo(200);
    assertThat(begun.member("name")).isEqualTo(name);
    return ended(api);
  }

  private static Answer ended(ApiCalls api) {
    await().atMost(TestBroker.SOON).until(() -> !api.get("/backup").member("state").equals("running"));
    return api.get("/backup");
  }

  private RestoreRun restore(String name, String data) {
    return RestoreRun.of(backup(name).toString(), directory.resolve(data).toString());
  }

  /** What one client publishes, one message after the other, until it is to end. */
  private static final class Publishing {
    private final AtomicInteger acknowledged = new AtomicInteger();
    private final AtomicBoolean ending = new AtomicBoolean();

    private void run(int port) {
      try (var client = RawClient.connected(port, Connect.of("steady").clean().expiry(0))) {
        for (int number = 0; !ending.get() && number < 50_000; number++) {
          assertThat(client.publishAndWait("m/x", Integer.toString(number))).isZero();
          acknowledged.incrementAndGet();
        }
      }
    }
  }

  private static void fill(int port, Publishing publishing) {
    for (String id : List.of("absent", "other")) {
      var client = RawClient.connected(port, Connect.of(id));
      client.subscribe("m/#", 1);
      client.subscribe("e/#", 2);
      client.disconnect();
    }
    RawClient.connected(port, Connect.of("member")).disconnectAfter(member -> member.subscribe("$share/group/w/#", 1));
    RawClient.connected(port, Connect.of("gone").clean().expiry(0)).subscribe("gone/#", 1);
    var exact = RawClient.connected(port, Connect.of("exact"));
    exact.publish("e/1", "released", 2, 1, false);
    assertThat(exact.next(RawClient.PUBREC).reason()).isZero();
    exact.pubrel(1);
    exact.next(RawClient.PUBCOMP);
    exact.publish("e/2", "recorded", 2, PACKET, false);
    assertThat(exact.next(RawClient.PUBREC).reason()).isZero();
    for (int i = 0; i < 5; i++) {
      assertThat(exact.publishAndWait("w/" + i, Integer.toString(i))).isZero();
      assertThat(exact.publishAndWait("r/" + i, "retained " + i, true)).isEqualTo(NO_SUBSCRIBERS);
    }
    CompletableFuture.runAsync(() -> publishing.run(port));
    await().atMost(TestBroker.SOON).until(() -> publishing.acknowledged.get() > 200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1", "3"})
  void aBackupOfABrokerThatServesBecomesAnotherBroker(String ranges) throws IOException {
    var publishing = new Publishing();
    int before;
    try (var broker = broker("old", "dunlin.inbox.ranges", ranges);
        var api = api("old")) {
      fill(broker.port(), publishing);
      before = publishing.acknowledged.get();
      Answer made = backUp(api, "first");
      assertThat(made.member("state")).as(made.text()).isEqualTo("complete");
      assertThat(made.member("path")).isEqualTo(backup("first").toString());
      assertThat(made.member("rangesDone")).isEqualTo(made.member("ranges"));
      int after = publishing.acknowledged.get();
      await("it goes on to serve").atMost(TestBroker.SOON).until(() -> publishing.acknowledged.get() > after + 20);
      publishing.ending.set(true);
    }

    assertThat(RestoreRun.of("--check", backup("first").toString()).out()).contains("is whole");
    var restored = restore("first", "new");
    assertThat(restored.code()).as("%s", restored).isZero();
    TestBroker.awaitFree(directory.resolve("old"));
    try (var broker = broker("new", "dunlin.inbox.ranges", ranges);
        var old = broker("old", "dunlin.inbox.ranges", ranges)) {
      assertThat(broker.node().nodeId()).isNotEqualTo(old.node().nodeId());
      isAllThere(broker.port(), before);
    }
  }

  private static void isAllThere(int port, int before) {
    try (var exact = RawClient.connected(port, Connect.of("exact"))) {
      assertThat(exact.sessionPresent()).isTrue();
      exact.publish("e/2", "recorded", 2, PACKET, true);
      assertThat(exact.next(RawClient.PUBREC).reason()).isZero();
      exact.pubrel(PACKET);
      exact.next(RawClient.PUBCOMP);
      assertThat(exact.publishAndWait("gone/1", "no route")).isEqualTo(NO_SUBSCRIBERS);
      assertThat(exact.publishAndWait("m/x", END)).as("the routes are there again").isZero();
      assertThat(exact.publishAndWait("w/x", END)).isZero();
    }
    for (String id : List.of("absent", "other")) {
      try (var client = RawClient.connected(port, Connect.of(id))) {
        assertThat(client.sessionPresent()).isTrue();
        List<Message> all = client.before(END);
        List<String> numbers = all.stream().filter(message -> message.topic().equals("m/x")).map(Message::text).toList();
        assertThat(numbers).as("in order, each once").containsExactlyElementsOf(IntStream.range(0, numbers.size()).mapToObj(Integer::toString).toList());
        assertThat(numbers).as("all that were acknowledged before").hasSizeGreaterThanOrEqualTo(before);
        assertThat(all.stream().filter(message -> message.topic().startsWith("e/")).map(Message::text)).containsExactly("released", "recorded");
      }
    }
    try (var member = RawClient.connected(port, Connect.of("member"))) {
      assertThat(member.before(END).stream().map(Message::text)).containsExactly("0", "1", "2", "3", "4");
    }
    try (var reader = RawClient.connected(port, Connect.of("reader").clean().expiry(0))) {
      reader.subscribe("r/#", 1);
      List<String> retained = new ArrayList<>();
      for (int i = 0; i < 5; i++) retained.add(reader.take().text());
      assertThat(retained).containsExactlyInAnyOrder("retained 0", "retained 1", "retained 2", "retained 3", "retained 4");
    }
  }

  @Test
  void oneBackupIsMadeAtATimeAndMayBeCancelled() throws IOException {
    try (var broker = broker("data", "dunlin.backup.bytes-per-second", "64KiB");
        var api = api("data")) {
      assertThat(api.get("/backup").member("state")).isEqualTo("none");
      assertThat(api.delete("/backup").status()).isEqualTo(409);
      try (var client = RawClient.connected(broker.port(), Connect.of("publisher"))) {
        byte[] noise = new byte[100_000];
        new Random(1).nextBytes(noise);
        String incompressible = new String(noise, StandardCharsets.ISO_8859_1).replace('\0', 'x');
        for (int i = 0; i < 20; i++) assertThat(client.publishAndWait("large/" + i, incompressible, true)).isEqualTo(NO_SUBSCRIBERS);
      }
      Answer begun = api.post("/backup/slow", "{}");
      assertThat(begun.member("state")).as(begun.text()).isEqualTo("running");
      assertThat(api.post("/backup/another", "{}").member("detail")).contains("slow is being made already");
      assertThat(api.delete("/backup").status()).isEqualTo(200);
      assertThat(ended(api).member("state")).isEqualTo("cancelled");
      try (var left = Files.list(backups())) {
        assertThat(left).isEmpty();
      }

      Files.createDirectory(backups().resolve(".slow.unfinished"));
      assertThat(api.post("/backup/slow", "{}").member("detail")).contains("left behind by a crash");
      Files.delete(backups().resolve(".slow.unfinished"));
      Files.createDirectory(backup("slow"));
      assertThat(api.post("/backup/slow", "{}").member("detail")).contains("already");
    }
  }

  @Test
  void theCommandsOfTheDistributionDoIt() throws Exception {
    Path data = directory.resolve("data");
    try (var broker = BrokerProcess.start(data, "dunlin.admin.port=0", "dunlin.backup.directory=" + backups())) {
      try (var client = RawClient.connected(broker.port(), Connect.of("publisher"))) {
        assertThat(client.publishAndWait("r/1", "kept", true)).isEqualTo(NO_SUBSCRIBERS);
      }
      var begun = Dunlinctl.run(directory, data, "backup", "start", "one");
      assertThat(begun.code()).as(begun.err()).isZero();
      try (var api = ApiCalls.of(data)) {
        assertThat(ended(api).member("state")).isEqualTo("complete");
      }
      assertThat(Dunlinctl.run(directory, data, "backup", "status").out()).containsPattern("state +complete");
      assertThat(Dunlinctl.run(directory, data, "backup", "start", "one").err()).contains("already");
      assertThat(Dunlinctl.run(directory, data, "backup", "cancel").code()).isEqualTo(1);
    }
    String command = Path.of(System.getProperty("dist.directory"), "bin", "dunlin") + " restore ";
    try (var checked = BrokerProcess.ofCommand(directory, command + "--check backups/one");
        var restored = BrokerProcess.ofCommand(directory, command + "backups/one new")) {
      assertThat(checked.awaitExit(TestBroker.SOON)).as("%s", checked).isZero();
      assertThat(restored.awaitExit(TestBroker.SOON)).as("%s", restored).isZero();
    }
    try (var broker = broker("new");
        var reader = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0))) {
      reader.subscribe("r/#", 1);
      assertThat(reader.take().text()).isEqualTo("kept");
    }
  }

  @Test
  void namesThatLeaveTheDirectoryAreRefused() {
    try (var _ = broker("data");
        var api = api("data")) {
      for (String name : List.of("..", ".hidden", "a%2Fb", "..%2Fx", "%2Fetc%2Fx", "a%00b", "x".repeat(65), "a%20b")) {
        assertThat(api.post("/backup/" + name, "{}").status()).as(name).isIn(400, 404, 405);
      }
      assertThat(directory.resolve("x")).doesNotExist();
      assertThat(api.get("/backup").member("state")).isEqualTo("none");
    }
  }

  @Test
  void withoutADirectoryNoneIsMade() {
    try (var _ = TestBroker.on(directory.resolve("data"), Map.of("dunlin.admin.port", "0"));
        var api = api("data")) {
      Answer refused = api.post("/backup/first", "{}");
      assertThat(refused.status()).isEqualTo(409);
      assertThat(refused.member("detail")).contains("dunlin.backup.directory");
    }
  }

  private void replaceInManifest(String name, String what, String by) throws IOException {
    Path manifest = backup(name).resolve("manifest.json");
    String text = Files.readString(manifest);
    assertThat(text).contains(what);
    Files.writeString(manifest, text.replace(what, by));
    Files.writeString(backup(name).resolve("manifest.sha256"), RestoreRun.sha256(manifest));
  }

  @Test
  void aBackupThatIsNotWholeIsRefusedWithASentence() throws IOException {
    try (var _ = broker("old");
        var api = api("old")) {
      for (String name : List.of("truncated", "damaged", "newer", "newer-data", "odd", "clock", "whole")) assertThat(backUp(api, name).member("state")).isEqualTo("complete");
    }
    Files.delete(backup("truncated").resolve("manifest.json"));
    assertThat(restore("truncated", "new").err()).contains("is no complete backup: it has no manifest.json");
    Path manifest = backup("damaged").resolve("manifest.json");
    Files.writeString(manifest, Files.readString(manifest).replace("\"version\"", "\"Version\""));
    assertThat(restore("damaged", "new").err()).contains("manifest.json").contains("is damaged");
    replaceInManifest("newer", "\"format\": 1", "\"format\": 2");
    assertThat(restore("newer", "new").err()).contains("the backup has format 2, and this version of Dunlin reads format 1").contains("a newer version");
    replaceInManifest("newer-data", "\"dataFormat\": 5", "\"dataFormat\": 6");
    assertThat(restore("newer-data", "new").err()).contains("the data in the backup has format 6");
    replaceInManifest("odd", "\"kind\": \"sessions\"", "\"kind\": \"../x\"");
    assertThat(restore("odd", "new").err()).contains("is not the manifest of a backup");
    Files.writeString(backup("clock").resolve("node").resolve("clock"), "1 1 1\n");
    assertThat(restore("clock", "new").err()).contains("clock of the backup");
    assertThat(restore("none", "new").err()).contains("there is no directory");
    assertThat(directory.resolve("new")).doesNotExist();

    assertThat(restore("whole", "new").code()).isZero();
    assertThat(restore("whole", "new").err()).contains("is not empty");
    for (String[] wrong : new String[][] {{}, {"a"}, {"a", "b", "c"}, {"--none", "a"}, {"--check"}}) assertThat(RestoreRun.of(wrong).code()).isEqualTo(Restore.USAGE);
  }
}
