package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import dunlin.harness.Dunlinctl;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code bin/dunlinctl} of the distribution against a broker in a process of its own. */
class DunlinctlIT {
  private static final Path PAGE = Path.of("../../docs/admin-api.md");
  private static final String COMMAND = "    bin/dunlinctl ";
  private static final String[] SETTINGS = {"dunlin.store.fsync=false", "dunlin.admin.port=0"};

  @TempDir private Path directory;

  private Dunlinctl ctl(Path data, String... arguments) throws IOException, InterruptedException {
    return Dunlinctl.run(directory, data, arguments);
  }

  @Test
  void eachCommandOfThePageRuns() throws Exception {
    Path data = directory.resolve("data");
    List<String> commands =
        Files.readAllLines(PAGE).stream()
            .filter(line -> line.startsWith(COMMAND))
            .map(line -> line.substring(COMMAND.length()))
            .filter(command -> !command.contains("--address")) // of another machine; CtlByTlsIT has these options
            .toList();
    assertThat(commands).hasSizeGreaterThan(20);
    try (var broker = BrokerProcess.start(data, SETTINGS);
        var other = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0));
        var client = RawClient.connected(broker.port(), Connect.of("meter-1"))) {
      client.subscribe("to/meter-1", 1);
      RawClient.connected(broker.port(), Connect.of("meter-2")).disconnectAfter(absent -> absent.subscribe("for/meter-2", 1));
      other.publishAndWait("for/meter-2", "waits");
      for (String command : commands) {
        Dunlinctl ended = ctl(data, command.split(" +", -1));

        if (command.startsWith("doctor")) assertThat(ended.code()).as("as this machine is").isIn(0, 4);
        else assertThat(ended.code()).as("%s: %s", command, ended.err()).isZero();
        assertThat(ended.out()).as(command).isNotBlank();
        if (command.equals("status")) assertThat(ended.out()).containsPattern("readiness +ready").containsPattern("connections +2");
        if (command.startsWith("--output json")) assertThat(JsonParser.parseString(ended.out()).getAsJsonObject().get("ready").getAsBoolean()).isTrue();
        if (command.startsWith("sessions list")) assertThat(ended.out()).contains("CLIENT ID").contains("meter-1");
        if (command.startsWith("loggers set") && command.endsWith("DEBUG")) assertThat(ended.out()).containsPattern("effective +DEBUG");
        if (command.startsWith("publish --topic to")) assertThat(client.next(RawClient.PUBLISH).text()).isEqualTo("hello");
        if (command.startsWith("retained export")) assertThat(ended.out()).startsWith("{\"format\":\"dunlin-retained\",\"version\":1}\n{\"topic\":\"plant/7/state\"");
        if (command.startsWith("sessions export")) assertThat(ended.out()).startsWith("{\"format\":\"dunlin-sessions\",\"version\":1}\n{\"session\":{\"clientId\":\"meter-");
        if (command.startsWith("retained list")) assertThat(ended.out()).contains("plant/7/state");
        if (command.startsWith("doctor")) assertThat(ended.out()).contains("VERDICT").containsPattern("ready +ok").containsPattern("listener tcp +ok");
        if (command.startsWith("top")) assertThat(ended.out()).contains("connections 2").contains("CLIENT ID").contains("meter-2").contains("COMMITS PER SECOND");
        if (command.contains("--sample")) assertThat(ended.out()).contains("Published by topic: none").contains("Published by client: none");
        if (command.startsWith("ledger")) assertThat(ended.out()).contains("IN FLIGHT").containsPattern("publish +[1-9]").containsPattern("session +[0-9]").containsPattern("inbox +[0-9]").containsPattern("routes +[1-9]");
        if (command.equals("queues")) assertThat(ended.out()).contains("OLDEST MILLIS").contains("messages in lanes").contains("commands of the range");
        if (command.startsWith("clients list --prefix")) assertThat(ended.out()).contains("ADDRESS").contains("meter-1").doesNotContain("van-7");
        if (command.startsWith("clients get")) assertThat(ended.out()).containsPattern("protocol +5.0");
        if (command.contains(" subscriptions ")) assertThat(ended.out()).contains("to/meter-1");
        if (command.startsWith("sessions message meter-2")) assertThat(ended.out()).containsPattern("topic +for/meter-2");
        if (command.startsWith("routes")) assertThat(ended.out()).contains("to/meter-1").contains("inbox");
        if (command.startsWith("explain")) assertThat(ended.out()).containsPattern("conclusion +delivered now").contains("STEP").containsPattern("subscription +passes +The client meter-1 has");
        if (command.startsWith("trace list")) assertThat(ended.out()).contains("TRACE").contains("to/meter-1");
        if (command.startsWith("clients disconnect")) assertThat(other.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x98);
        if (command.startsWith("sessions disconnect")) assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x98);
      }
    }
  }

  @Test
  void refusalsHaveTheirOwnExitCodes() throws Exception {
    Path data = directory.resolve("data");
    try (var broker = BrokerProcess.start(data, SETTINGS)) {
      assertThat(broker.adminPort()).isPositive();
      Dunlinctl none = ctl(data, "sessions", "get", "none");
      assertThat(none.code()).isEqualTo(1);
      assertThat(none.err()).contains("has no session of this client identifier");
      assertThat(ctl(data, "cluster", "nodes").err()).contains("belongs to no cluster");
      assertThat(ctl(data, "sessions", "lsit").code()).isEqualTo(2);
    }
    assertThat(ctl(data, "status").code()).as("the broker has ended").isEqualTo(3);
  }

  @Test
  void sessionsGoToAFileAndComeBack() throws Exception {
    Path data = directory.resolve("data");
    Path file = directory.resolve("sessions.jsonl");
    try (var broker = BrokerProcess.start(data, SETTINGS);
        var publisher = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      for (String client : List.of("meter-1", "meter-2", "other")) RawClient.connected(broker.port(), Connect.of(client)).disconnectAfter(absent -> absent.subscribe("a", 1));
      for (int i = 0; i < 400; i++) publisher.publishAndWait("a", "x".repeat(1_000));

      Dunlinctl exported = ctl(data, "sessions", "export", "--file", file.toString());
      assertThat(exported.code()).as(exported.err()).isZero();
      assertThat(exported.out()).containsPattern("exported +3");
      assertThat(Files.readAllLines(file)).hasSize(1 + 3 * 403).allMatch(line -> line.startsWith("{"));
      assertThat(ctl(data, "sessions", "export", "--prefix", "meter-1", "--file", "-").out().lines()).hasSize(404);
      assertThat(ctl(data, "sessions", "delete-all", "--prefix", "meter-").code()).isZero();

      Dunlinctl imported = ctl(data, "sessions", "import", "--file", file.toString());
      assertThat(imported.code()).as(imported.err()).isZero();
      assertThat(imported.out()).containsPattern("sessions +2").containsPattern("existing +1").containsPattern("messages +800").containsPattern("unfinished +0");
      assertThat(ctl(data, "sessions", "list").out()).contains("meter-1").contains("meter-2").contains("other");
      Dunlinctl refused = ctl(data, "sessions", "import", "--file", Files.writeString(file, Files.readString(file) + "{}\n").toString());
      assertThat(refused.code()).isEqualTo(1);
      assertThat(refused.err()).contains("Line 1211: it has 0 of session").contains("Of the lines before line ").contains("3 existing");
    }
  }

  @Test
  void retainedMessagesGoToAFileAndComeBack() throws Exception {
    Path data = directory.resolve("data");
    Path file = directory.resolve("retained.jsonl");
    try (var broker = BrokerProcess.start(data, SETTINGS);
        var client = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      for (String topic : List.of("plant/1", "plant/2", "other")) client.publishAndWait(topic, "on", true);

      Dunlinctl exported = ctl(data, "retained", "export", "--file", file.toString());
      assertThat(exported.code()).as(exported.err()).isZero();
      assertThat(exported.out()).containsPattern("exported +3");
      assertThat(Files.readAllLines(file)).hasSize(4).allMatch(line -> line.startsWith("{"));
      assertThat(ctl(data, "retained", "export", "--filter", "plant/+", "--file", "-").out().lines()).hasSize(3);
      assertThat(ctl(data, "retained", "delete-all", "--prefix", "plant/").code()).isZero();

      Dunlinctl imported = ctl(data, "retained", "import", "--file", file.toString());
      assertThat(imported.code()).as(imported.err()).isZero();
      assertThat(imported.out()).containsPattern("imported +2").containsPattern("kept +1").containsPattern("expired +0");
      assertThat(ctl(data, "retained", "import", "--file", file.toString(), "--existing", "replace").out()).containsPattern("imported +3").containsPattern("kept +0");
      assertThat(ctl(data, "retained", "list").out()).contains("plant/1").contains("plant/2").contains("other");
    }
  }

  @Test
  void aFileThatCannotBeImportedIsRefusedWithTheLine() throws Exception {
    Path data = directory.resolve("data");
    List<String> lines = new ArrayList<>(List.of("{\"format\":\"dunlin-retained\",\"version\":1}"));
    for (int number = 2; number <= 5_000; number++) lines.add("{\"topic\":\"meter/%d/%s\",\"payload\":\"b24=\"}".formatted(number, "x".repeat(80)));
    lines.set(4_899, "{\"topic\":\"meter/#\",\"payload\":\"b24=\"}");
    Path file = Files.write(directory.resolve("wrong.jsonl"), lines);
    try (var broker = BrokerProcess.start(data, SETTINGS)) {
      assertThat(broker.adminPort()).isPositive();

      Dunlinctl refused = ctl(data, "retained", "import", "--file", file.toString());

      assertThat(refused.code()).isEqualTo(1);
      assertThat(refused.err()).contains("Line 4900: topic name with wildcards").containsPattern("Of the lines before line \\d+: [1-9]\\d+ imported, 0 kept, 0 expired");
      assertThat(ctl(data, "retained", "import", "--file", Files.writeString(file, "topic,payload\n").toString()).err()).contains("Line 1: it is not a JSON object");
      assertThat(ctl(data, "retained", "import", "--file", Files.writeString(file, "").toString()).err()).contains("is empty");
      assertThat(ctl(data, "retained", "import", "--file", Files.write(file, new byte[] {'{', (byte) 0xFF}).toString()).err()).contains("is not UTF-8");
      Dunlinctl none = ctl(data, "retained", "import", "--file", directory.resolve("none").toString());
      assertThat(none.code()).as(none.err()).isEqualTo(2);
      assertThat(none.err()).contains("cannot be used");
      assertThat(ctl(data, "retained", "export", "--file", directory.resolve("none/x").toString()).code()).isEqualTo(2);
      assertThat(ctl(data, "retained", "export").code()).as("without a file").isEqualTo(2);
    }
  }

  @Test
  void namesOfClientsCannotChangeTheTerminal() throws Exception {
    Path data = directory.resolve("data");
    try (var broker = BrokerProcess.start(data, SETTINGS);
        var _ = RawClient.connected(broker.port(), Connect.of("turn\u202Earound"))) {
      Dunlinctl listed = ctl(data, "sessions", "list");
      assertThat(listed.out()).contains("turn\\u202earound").doesNotContain("\u202E");
      assertThat(Arrays.stream(listed.out().split("\n", -1)).filter(line -> line.contains("turn"))).hasSize(1);
    }
  }
}
