package dunlin;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The repair command on the data of a real node, and the node's next start. */
class RepairIT {
  private static final Map<String, String> SETTINGS =
      Map.of("dunlin.inbox.shards", "12", "dunlin.inbox.ranges", "3", "dunlin.admin.port", "-1");

  private final Path directory;
  private final Path data;
  private String out = "";
  private String err = "";

  RepairIT(@TempDir Path directory) {
    this.directory = directory;
    data = directory.resolve("data");
  }

  /** Two sessions have the same waiting messages, one of them large; two topics have retained messages. */
  @BeforeEach
  void aNodeHasStopped() {
    try (var broker = TestBroker.on(data, SETTINGS)) {
      for (String id : List.of("one", "two")) {
        try (var client = RawClient.connected(broker.port(), RawClient.Connect.of(id))) {
          client.subscribe("queue/+", 1);
        }
      }
      try (var client = RawClient.connected(broker.port(), RawClient.Connect.of("publisher"))) {
        client.publishAndWait("queue/a", "small", false);
        client.publishAndWait("queue/b", "x".repeat(900_000), false);
        client.publishAndWait("queue/c", "last", false);
        client.publishAndWait("kept/large", "y".repeat(500_000), true);
        client.publishAndWait("kept/small", "z", true);
      }
    }
    TestBroker.awaitFree(data);
  }

  private int repair(String... arguments) {
    var outBytes = new ByteArrayOutputStream();
    var errBytes = new ByteArrayOutputStream();
    int code =
        Repair.run(
            List.of(arguments), new PrintStream(outBytes, true, StandardCharsets.UTF_8),
            new PrintStream(errBytes, true, StandardCharsets.UTF_8));
    out = outBytes.toString(StandardCharsets.UTF_8);
    err = errBytes.toString(StandardCharsets.UTF_8);
    return code;
  }

  private int repairData(String... arguments) {
    TestBroker.awaitFree(data);
    var all = new ArrayList<>(List.of(data.toString()));
    all.addAll(List.of(arguments));
    return repair(all.toArray(String[]::new));
  }

  private List<String> waitingFor(TestBroker broker, String id, int messages) {
    try (var client = RawClient.connected(broker.port(), RawClient.Connect.of(id))) {
      assertThat(client.sessionPresent()).as(id).isTrue();
      return client.next(messages, RawClient.PUBLISH).stream().map(RawClient.Packet::topic).toList();
    }
  }

  @Test
  void largeItemsAreListedByName() {
    assertThat(repairData("list", "--top", "1")).as(err).isEqualTo(Repair.DONE);

    assertThat(out)
        .contains("sessions: 3; subscriptions: 2; messages waiting: 6 with ")
        .containsPattern("Largest inboxes:\n  9\\d\\d,\\d{3} bytes in 3 messages: client \"(one|two)\" of tenant ")
        .containsPattern("Largest messages:\n  9\\d\\d,\\d{3} bytes: sequence 2 of client \"(one|two)\" of tenant ")
        .containsPattern("Longest topic filters:\n  7 characters: \"queue/\\+\" of client ")
        .containsPattern("Largest retained messages:\n  5\\d\\d,\\d{3} bytes: topic \"kept/large\" of tenant ");
    assertThat(out.lines().filter(line -> line.startsWith("  "))).as("one of each").hasSize(6);
  }

  @Test
  void aSessionIsRemovedWithItsMessagesAndOthersStay() {
    assertThat(repairData("remove-session", "one", "--dry-run")).isEqualTo(Repair.DONE);
    assertThat(out).startsWith("Would remove the session of client \"one\"").contains("1 subscriptions, 9").contains(" bytes in 3 messages");
    assertThat(repairData("remove-session", "one")).as(err).isEqualTo(Repair.DONE);
    assertThat(out).startsWith("Removed the session of client \"one\"");
    assertThat(repairData("remove-session", "one")).isEqualTo(Repair.NOT_THERE);
    assertThat(repairData("list")).isEqualTo(Repair.DONE);
    assertThat(out).contains("sessions: 2; subscriptions: 1; messages waiting: 3 with ").doesNotContain("\"one\"");

    try (var broker = TestBroker.on(data, SETTINGS)) {
      try (var client = RawClient.connected(broker.port(), RawClient.Connect.of("one"))) {
        assertThat(client.sessionPresent()).isFalse();
      }
      assertThat(waitingFor(broker, "two", 3)).containsExactly("queue/a", "queue/b", "queue/c");
    }
  }

  @Test
  void oneMessageIsRemovedAndTheOthersStayInOrder() {
    assertThat(repairData("remove-message", "one", "2")).as(err).isEqualTo(Repair.DONE);
    assertThat(out).startsWith("Removed message 2 of client \"one\"");
    assertThat(repairData("remove-message", "one", "2")).isEqualTo(Repair.NOT_THERE);

    try (var broker = TestBroker.on(data, SETTINGS)) {
      assertThat(waitingFor(broker, "one", 2)).containsExactly("queue/a", "queue/c");
      assertThat(waitingFor(broker, "two", 3)).containsExactly("queue/a", "queue/b", "queue/c");
    }
  }

  @Test
  void aRetainedMessageIsRemovedByItsTopic() {
    assertThat(repairData("remove-retained", "kept/large", "--dry-run")).isEqualTo(Repair.DONE);
    assertThat(repairData("remove-retained", "kept/large")).as(err).isEqualTo(Repair.DONE);
    assertThat(out).startsWith("Removed the retained message of ").contains("topic \"kept/large\"");
    assertThat(repairData("remove-retained", "kept/none")).isEqualTo(Repair.NOT_THERE);

    try (var broker = TestBroker.on(data, SETTINGS);
        var client = RawClient.connected(broker.port(), RawClient.Connect.of("reader"))) {
      client.subscribe("kept/+", 1);
      assertThat(client.next(1, RawClient.PUBLISH)).singleElement().satisfies(each -> assertThat(each.topic()).isEqualTo("kept/small"));
    }
  }

  @Test
  void unknownNamesChangeNothing() {
    for (String[] nothing :
        new String[][] {
          {"remove-session", "three"}, {"remove-session", "one", "--tenant", "other"}, {"remove-message", "one", "9"},
          {"remove-message", "three", "1"}, {"remove-session", "three", "--dry-run"}, {"remove-message", "one", "9", "--dry-run"},
        }) {
      assertThat(repairData(nothing)).as(String.join(" ", nothing)).isEqualTo(Repair.NOT_THERE);
      assertThat(out).startsWith("There is no ");
    }
    assertThat(repairData("list")).isEqualTo(Repair.DONE);
    assertThat(out).contains("sessions: 3; subscriptions: 2; messages waiting: 6 with ");
  }

  @Test
  void aDirectoryInUseIsNotTouched() {
    try (var broker = TestBroker.on(data, SETTINGS)) {
      for (String[] words : new String[][] {{"list"}, {"remove-session", "one"}, {"remove-retained", "kept/large", "--dry-run"}}) {
        var all = new ArrayList<>(List.of(data.toString()));
        all.addAll(List.of(words));
        assertThat(repair(all.toArray(String[]::new))).isEqualTo(Repair.CANNOT);
        assertThat(err).startsWith("dunlin repair: ").contains("is in use");
      }
      assertThat(waitingFor(broker, "one", 3)).hasSize(3);
    }
  }

  @Test
  void otherDirectoriesAndOtherVersionsAreRefused() throws IOException {
    Path empty = Files.createDirectory(directory.resolve("empty"));
    assertThat(repair(empty.toString(), "list")).isEqualTo(Repair.CANNOT);
    assertThat(err).contains("is not a data directory of Dunlin");
    assertThat(empty).isEmptyDirectory();
    assertThat(repair(directory.resolve("none").toString(), "remove-session", "one")).isEqualTo(Repair.CANNOT);
    assertThat(err).contains("there is no directory");
    assertThat(directory.resolve("none")).doesNotExist();

    Path identity = data.resolve("dunlin.node");
    byte[] newer = Files.readAllBytes(identity);
    newer[0]++;
    var checksum = new CRC32C();
    checksum.update(newer, 0, newer.length - 4);
    ByteBuffer.wrap(newer).putInt(newer.length - 4, (int) checksum.getValue());
    Files.write(identity, newer);
    assertThat(repair(data.toString(), "list")).isEqualTo(Repair.CANNOT);
    assertThat(err).contains("is of format 6, this version of Dunlin reads format 5");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "list", "DATA", "DATA steal", "DATA list --top 0", "DATA list more", "DATA remove-session", "DATA remove-message one",
        "DATA remove-message one two", "DATA remove-message one -1", "DATA remove-retained a b", "DATA remove-session one --force",
        "DATA remove-session one --tenant",
      })
  void wrongArgumentsAreExplained(String arguments) {
    String[] words = arguments.isEmpty() ? new String[0] : arguments.replace("DATA", data.toString()).split(" ", -1);

    assertThat(repair(words)).isEqualTo(Repair.USAGE);
    assertThat(err).startsWith("dunlin repair: ").contains("Usage: bin/dunlin repair DATA_DIR list");
  }

  @ParameterizedTest
  @ValueSource(strings = {"plain", "a b", "line\nend", "\\u000a", "tab\t\\", "\uD83D\uDE00", "ä", "\\u"})
  void everyNameCanBePrintedOnOneLineAndParsedAgain(String name) {
    assertThat(Repair.shown(name)).doesNotContain("\n", "\t");
    assertThat(Repair.spelled(Repair.shown(name))).isEqualTo(name);
  }
}
