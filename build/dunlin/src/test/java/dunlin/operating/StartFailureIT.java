package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.TestBroker;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The shipped broker when it cannot start: it soon prints one sentence, and changes nothing. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StartFailureIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  @TempDir Path directory;
  private final Path stopped;

  StartFailureIT(@TempDir Path shared) {
    stopped = shared;
  }

  @BeforeAll
  void aNodeWithRowsInEveryRangeHasStopped() {
    try (var broker = TestBroker.on(stopped);
        var client = RawClient.connected(broker.port(), RawClient.Connect.of("client"))) {
      client.subscribe("topic/+", 1);
      for (int i = 0; i < 20; i++) client.publishAndWait("topic/" + i % 2, "x".repeat(100), true);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "dunlin.listeners.tcp.port", "dunlin.admin.port",
  })
  void aPortInUse(String key) throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      refused(directory.resolve("data"), List.of(key + "=" + taken.getLocalPort()), key, "" + taken.getLocalPort());
    }
  }

  @Test
  void aHostThatIsNotOfThisMachine() {
    refused(
        directory.resolve("data"),
        List.of("dunlin.listeners.tcp.host=192.0.2.1", "dunlin.auth.anonymous=true"),
        "192.0.2.1",
        "dunlin.listeners.tcp.host");
  }

  @Test
  void anAddressReachableFromOtherMachinesWithoutAuthentication() {
    refused(directory.resolve("data"), List.of("dunlin.listeners.tcp.host=0.0.0.0"), "dunlin.auth.anonymous=true");
  }

  @Test
  void aDataDirectoryUnderAFile() throws IOException {
    Path file = Files.writeString(directory.resolve("file"), "content");
    refused(file.resolve("data"), List.of(), file.toString());
    assertThat(file).hasContent("content");
  }

  @Test
  void aDataDirectoryThatIsAFile() throws IOException {
    Path file = Files.writeString(directory.resolve("file"), "content");
    refused(file, List.of(), file.toString());
    assertThat(file).hasContent("content");
  }

  @Test
  void aForeignDirectory() throws IOException {
    Path foreign = Files.createDirectories(directory.resolve("foreign"));
    Files.writeString(foreign.resolve("thesis.tex"), "content");
    Files.createDirectory(foreign.resolve("raft"));
    var before = contents(foreign);
    refused(foreign, List.of(), foreign.toString(), "is not Dunlin's");
    assertThat(contents(foreign)).isEqualTo(before);
  }

  @Test
  void aDirectoryInUseByAnotherNode() throws IOException {
    Path data = directory.resolve("data");
    try (var running = TestBroker.on(data)) {
      byte[] identity = Files.readAllBytes(data.resolve("dunlin.node"));
      String process = "process " + ProcessHandle.current().pid();
      refused(data, List.of(), data.toString(), "is in use by another Dunlin node (" + process + ")");
      assertThat(data.resolve("dunlin.node")).hasBinaryContent(identity);
      RawClient.connected(running.port(), RawClient.Connect.of("still served")).disconnect();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "dunlin.mqtt.packet-max=99GiB | dunlin.mqtt.packet-max | 99GiB",
        "dunlin.mqtt.connect-timeout=10 | dunlin.mqtt.connect-timeout | 10",
        "dunlin.inbox.overflow=drop-all | dunlin.inbox.overflow | drop-oldest",
        "dunlin.inbox.ranges=17 | dunlin.inbox.ranges | 16 shards",
        "dunlin.roles=frontend | dunlin.cluster.seeds | only some of the roles",
        "dunlin.roles=broker | dunlin.roles | frontend",
        "dunlin.roles=store dunlin.cluster.seeds=localhost:1 dunlin.cluster.port=0 | dunlin.cluster.port | a node of a cluster",
        "dunlin.cluster.seeds=a:1 dunlin.cluster.service-port=0 | dunlin.cluster.service-port | a node of a cluster",
        "dunlin.cluster.seeds=a:1 dunlin.cluster.service-port=65535 | dunlin.cluster.port | a node of a cluster",
        "dunlin.cluster.service-port=7000 | dunlin.cluster.service-port | runs alone",
        "dunlin.listener.tcp.prt=1883 | dunlin.listener.tcp.prt | dunlin.listeners.tcp.port",
        "dunlin.config=/no/such/file.conf | /no/such/file.conf | /no/such/file.conf",
      })
  void aSettingThatIsWrong(String settings, String first, String second) {
    Path data = directory.resolve("data");
    refused(data, List.of(settings.split(" ")), first, second);
    assertThat(data).doesNotExist();
  }

  /** Neither is changed by the attempt. */
  @Test
  void dataOfABrokerThatRanAloneInACluster() {
    refused(stopped, clusterOfOne(), "dunlin.cluster.seeds", "ran alone");
    TestBroker.on(stopped).close();
  }

  @Test
  void dataOfANodeOfAClusterInABrokerThatRunsAlone() {
    Path data = directory.resolve("data");
    var settings = clusterOfOne();
    BrokerProcess.start(data, settings.toArray(new String[0])).close();
    refused(data, List.of(), "dunlin.cluster.seeds", "belongs to a node of a cluster");
    BrokerProcess.start(data, settings.toArray(new String[0])).close();
  }

  private static List<String> clusterOfOne() {
    int service = FreePort.any();
    return List.of(
        "dunlin.cluster.seeds=127.0.0.1:" + service, "dunlin.cluster.service-port=" + service, "dunlin.cluster.port=" + FreePort.any(),
        "dunlin.cluster.bootstrap-expect=1");
  }

  @Test
  void anotherNumberOfShards() {
    refused(stopped, List.of("dunlin.inbox.shards=32"), "dunlin.inbox.shards is 32", "stored with 16");
  }

  /** The node then starts with the right number: nothing was created for the wrong ones. */
  @Test
  void anotherNumberOfRanges() {
    Path data = directory.resolve("data");
    TestBroker.on(data, Map.of("dunlin.inbox.ranges", "2")).close();
    refused(data, List.of("dunlin.inbox.ranges=3"), "dunlin.inbox.ranges is 3", "stored with 2");
    refused(data, List.of("dunlin.inbox.ranges=1"), "dunlin.inbox.ranges is 1", "stored with 2");
    TestBroker.on(data, Map.of("dunlin.inbox.ranges", "2")).close();
  }

  /** One of the three ranges stands for all; RangeStoreDamageTest tests more kinds of damage. */
  Stream<Arguments> damages() throws IOException {
    String range;
    try (var ranges = Files.newDirectoryStream(stopped.resolve("ranges"))) {
      range = String.valueOf(ranges.iterator().next().getFileName());
    }
    return Stream.of(
        Arguments.of("dunlin.node", Damage.FLIP),
        Arguments.of("session-layout", Damage.FLIP),
        Arguments.of("raft/" + range + "/current/log_*", Damage.FLIP),
        Arguments.of("raft/" + range + "/current/raft-meta", Damage.DELETE),
        Arguments.of("ranges/" + range + "/*.sst", Damage.FLIP),
        Arguments.of("ranges/" + range + "/CURRENT", Damage.TRUNCATE));
  }

  enum Damage {
    FLIP,
    TRUNCATE,
    DELETE
  }

  @ParameterizedTest
  @MethodSource("damages")
  void aDamagedStore(String glob, Damage damage) throws IOException {
    Path data = directory.resolve("damaged");
    copy(stopped, data);
    Path file = only(data, glob);
    byte[] whole = Files.readAllBytes(file);
    switch (damage) {
      case FLIP -> {
        byte[] bytes = whole.clone();
        bytes[bytes.length / 3] ^= 0x20;
        Files.write(file, bytes);
      }
      case TRUNCATE -> {
        try (var opened = new RandomAccessFile(file.toFile(), "rw")) {
          opened.setLength(whole.length / 2);
        }
      }
      case DELETE -> Files.delete(file);
    }
    Path damaged = glob.contains("/") ? Path.of(glob).getName(1) : Path.of(glob);
    refused(data, List.of(), damaged.toString());

    // Nothing was recreated or deleted: with the original file, everything is there again.
    Files.write(file, whole);
    try (var broker = TestBroker.on(data);
        var client = RawClient.connected(broker.port(), RawClient.Connect.of("client"))) {
      assertThat(client.sessionPresent()).isTrue();
      // A message that was published while those for the new subscription were read may have come as one of these.
      assertThat(client.next(20, RawClient.PUBLISH)).filteredOn(RawClient.Packet::retain).hasSizeLessThan(3);
      client.subscribe("topic/+", 1);
      assertThat(client.next(2, RawClient.PUBLISH)).allMatch(each -> each.retain());
    }
  }

  private static Map<String, String> contents(Path root) throws IOException {
    Map<String, String> contents = new TreeMap<>();
    try (var files = Files.walk(root)) {
      for (Path file : files.toList()) {
        contents.put(root.relativize(file).toString(), Files.isDirectory(file) ? "a directory" : Files.readString(file));
      }
    }
    return contents;
  }

  private static void copy(Path from, Path to) throws IOException {
    try (var files = Files.walk(from)) {
      for (Path file : files.toList()) Files.copy(file, to.resolve(from.relativize(file).toString()));
    }
  }

  /** The largest matching file, so that a flipped byte is in data that is used. */
  private static Path only(Path root, String glob) throws IOException {
    var matcher = FileSystems.getDefault().getPathMatcher("glob:" + root + "/" + glob);
    try (var files = Files.walk(root)) {
      return files.filter(matcher::matches).max(Comparator.comparingLong(StartFailureIT::size)).orElseThrow();
    }
  }

  private static long size(Path file) {
    return file.toFile().length();
  }

  /** The process must end soon, with one line on standard error that contains all this, and without a stack trace. */
  private static void refused(Path data, List<String> settings, String... saying) {
    try (var broker = BrokerProcess.launch(data, settings.toArray(new String[0]))) {
      int code = broker.awaitExit(LIMIT);
      assertThat(code).as("exit code; %s", broker).isEqualTo(1);
      assertThat(broker.err()).as("standard error").singleElement().asString().startsWith("dunlin: ").contains(saying);
      assertThat(broker.out())
          .as("standard output")
          .noneMatch(line -> line.startsWith("\tat ") || line.contains("Exception") || line.endsWith(" is ready"));
    }
  }
}
