package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of bin/dunlin besides running a broker: help, version, check, repair and load test. */
class CommandIT {
  private static final Path HOME = Path.of(System.getProperty("dist.directory"));

  @TempDir Path directory;

  private record Ended(int code, List<String> out, List<String> err) {}

  private Ended run(String... arguments) throws IOException, InterruptedException {
    return runOf(HOME, arguments);
  }

  /** Runs the command of an installation in another place. */
  private Ended runOf(Path home, String... arguments) throws IOException, InterruptedException {
    return runWith(Map.of(), home, arguments);
  }

  private Ended runWith(Map<String, String> environment, Path home, String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(home.resolve("bin/dunlin").toString());
    command.addAll(List.of(arguments));
    Path out = Files.createTempFile(directory, "out", "");
    Path err = Files.createTempFile(directory, "err", "");
    ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("DUNLIN_JVM_OPTS", "-Xmx256m");
    builder.environment().put("DUNLIN_BENCH_JVM_OPTS", "-ea -XX:TieredStopAtLevel=1");
    builder.environment().putAll(environment);
    Process process = builder.start();
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Ended(process.exitValue(), Files.readAllLines(out, StandardCharsets.UTF_8), Files.readAllLines(err, StandardCharsets.UTF_8));
  }

  private Ended check(Path data, String... settings) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("check", "-Ddunlin.data-dir=" + data, "-Ddunlin.listeners.tcp.port=0"));
    for (String setting : settings) arguments.add("-D" + setting);
    return run(arguments.toArray(new String[0]));
  }

  @Test
  void helpNamesEveryCommand() throws Exception {
    for (String word : List.of("--help", "-h", "help")) {
      var help = run(word);
      assertThat(help.code()).isZero();
      assertThat(help.err()).isEmpty();
      assertThat(String.join("\n", help.out()))
          .contains("bin/dunlin check", "bin/dunlin passwd", "bin/dunlin check-acl", "bin/dunlin repair", "bin/dunlin form-cluster", "bin/dunlin restore", "bin/dunlin bench", "--version", "docs/configuration.md");
    }
  }

  @Test
  void checkAclNamesTheRuleThatDecides() throws Exception {
    Path acl =
        Files.writeString(
            directory.resolve("acl"),
            "# rules\ngroup readers \"carol d\"\ndeny everyone read home/secret\nallow group readers read home/#\nallow user s publish up/%c qos=1\nallow everyone publish %{cert.cn}/#\n");
    String file = acl.toString();
    assertThat(run("check-acl", file, "-u", "s", "-c", "c1", "-q", "1", "publish", "up/c1"))
        .isEqualTo(new Ended(0, List.of("allowed by " + file + ":5: allow user s publish up/%c qos=1"), List.of()));
    assertThat(run("check-acl", file, "-u", "s", "-c", "c1", "-q", "2", "publish", "up/c1"))
        .isEqualTo(new Ended(1, List.of("denied by default: no rule matches"), List.of()));
    assertThat(run("check-acl", file, "-a", "cert.cn=me", "-r", "publish", "me/x").code()).isZero();
    assertThat(run("check-acl", file, "-u", "carol d", "receive", "home/secret"))
        .isEqualTo(new Ended(1, List.of("denied by " + file + ":3: deny everyone read home/secret"), List.of()));
    assertThat(run("check-acl", file, "-u", "carol d", "subscribe", "home/#").out())
        .containsExactly(
            "allowed by " + file + ":4: allow group readers read home/#", "each message is checked, because the client may not have all that this filter matches",
            "not all of it, by " + file + ":3: deny everyone read home/secret");
    Ended shared = run("check-acl", file, "-u", "carol d", "subscribe", "$share/g/home/#");
    assertThat(shared.code()).isEqualTo(1);
    assertThat(shared.out()).contains("denied all the same: a shared subscription must be allowed as a whole, with all that it brings");
    assertThat(run("check-acl", file, "publish", "a/+")).isEqualTo(new Ended(2, List.of(), List.of("dunlin check-acl: " + file + ": not a topic name: a/+")));
    Files.writeString(acl, "allow everyone all a/%x\n");
    assertThat(run("check-acl", file, "publish", "a").err()).singleElement().asString().contains("line 1, column 22: unknown placeholder");
    assertThat(run("check-acl", file + "-not", "publish", "a").err()).containsExactly("dunlin check-acl: there is no such file: " + file + "-not");
    assertThat(run("check-acl", file, "-x", "1", "publish", "a").code()).isEqualTo(2);
  }

  @Test
  void theVersionIsThatOfTheJars() throws Exception {
    var version = run("--version");
    assertThat(version.code()).isZero();
    assertThat(version.out()).singleElement().asString().matches("Dunlin 0\\.\\S+, on Java 25.*");
  }

  @Test
  void unknownArgumentsAreNamed() throws Exception {
    var wrong = run("--verison");
    assertThat(wrong.code()).isEqualTo(2);
    assertThat(wrong.err().getFirst()).isEqualTo("dunlin: not understood: --verison");
    assertThat(wrong.out()).isEmpty();
  }

  @Test
  void anUnknownFormatOfTheLogIsRefused() throws Exception {
    var wrong = runWith(Map.of("DUNLIN_LOG", "xml"), HOME, "-Ddunlin.data-dir=" + directory.resolve("data"));
    assertThat(wrong.code()).isEqualTo(2);
    assertThat(wrong.err()).containsExactly("dunlin: DUNLIN_LOG is text or json, not xml");
    assertThat(directory.resolve("data")).doesNotExist();
  }

  @Test
  void aSuccessfulCheckLeavesNothingBehind() throws Exception {
    Path data = directory.resolve("data");
    var check = check(data);
    assertThat(check.err()).isEmpty();
    assertThat(check.out()).containsExactly("dunlin check: no problems found");
    assertThat(check.code()).isZero();
    assertThat(data).doesNotExist();
  }

  @Test
  void aCheckListsAllProblems() throws Exception {
    Path foreign = Files.createDirectories(directory.resolve("foreign"));
    Files.writeString(foreign.resolve("thesis.tex"), "content");
    Path passwords = Files.writeString(directory.resolve("passwords"), "nonsense");
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var check =
          check(
              foreign,
              "dunlin.mqtt.packet-max=99GiB",
              "dunlin.listener.tcp.prt=1883",
              "dunlin.drain.server-reference=" + "x".repeat(1_025),
              "dunlin.auth.password-file=" + passwords,
              "dunlin.auth.provider=none-such",
              "dunlin.listeners.secure.type=tls",
              "dunlin.listeners.secure.tls.certificate=/no/such.pem",
              "dunlin.listeners.secure.tls.key=/no/such.key",
              "dunlin.listeners.web.type=ws",
              "dunlin.listeners.web.path=mqtt",
              "dunlin.listeners.tcp.port=" + taken.getLocalPort(),
              "dunlin.health.port=" + taken.getLocalPort());

      assertThat(check.code()).isEqualTo(1);
      assertThat(check.out()).isEmpty();
      assertThat(check.err()).allSatisfy(line -> assertThat(line).startsWith("dunlin check: "));
      for (String problem :
          List.of(
              "dunlin.mqtt.packet-max", "dunlin.listener.tcp.prt", "dunlin.drain.server-reference", "is not Dunlin's", passwords.toString(),
              "none-such", "/no/such.pem", "dunlin.listeners.web.path", "(dunlin.listeners.tcp.host,", "dunlin.health.port")) {
        assertThat(check.err()).as(problem).filteredOn(line -> line.contains(problem)).hasSize(1);
      }
      assertThat(check.err()).hasSize(10);
    }
  }

  @Test
  void portsOfARunningNodeAreNoProblem() throws Exception {
    Path data = directory.resolve("data");
    try (var broker = BrokerProcess.start(data)) {
      var check = check(data, "dunlin.listeners.tcp.port=" + broker.port());
      assertThat(check.err()).isEmpty();
      assertThat(check.out()).hasSize(2).first().asString().contains("note: a node uses the data directory " + data);
      assertThat(check.code()).isZero();
    }
  }

  @Test
  void aStoreNodeIsCheckedAsOne() throws Exception {
    var check = check(directory.resolve("data"), "dunlin.roles=store", "dunlin.cluster.seeds=localhost:7100", "dunlin.cluster.port=0");
    assertThat(check.code()).isEqualTo(1);
    assertThat(check.err()).anySatisfy(line -> assertThat(line).contains("dunlin.cluster.port"));
  }

  @Test
  void thePortsOfABrokerOfAClusterAreChecked() throws Exception {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var check = check(directory.resolve("data"), "dunlin.cluster.seeds=localhost:7100", "dunlin.cluster.service-port=" + taken.getLocalPort());
      assertThat(check.err()).anySatisfy(line -> assertThat(line).contains("dunlin.cluster.service-port: cannot listen"));
      assertThat(check.code()).isEqualTo(1);
    }
  }

  @Test
  void aStoppedNodesDataIsRepairedInASmallHeap() throws Exception {
    Path data = directory.resolve("data");
    try (var broker = BrokerProcess.start(data)) {
      try (var absent = RawClient.connected(broker.port(), RawClient.Connect.of("absent"))) {
        absent.subscribe("queue/+", 1);
      }
      try (var publisher = RawClient.connected(broker.port(), RawClient.Connect.of("publisher"))) {
        for (int i = 0; i < 100; i++) publisher.publishAndWait("queue/" + i, "x".repeat(500_000), false);
      }
    }

    var list = run("repair", data.toString(), "list");
    assertThat(list.err()).isEmpty();
    assertThat(list.out()).anyMatch(line -> line.matches(".*messages waiting: [1-9]\\d* with .*"));

    var removed = run("repair", data.toString(), "remove-session", "absent");
    assertThat(removed.err()).isEmpty();
    assertThat(removed.out()).first().asString().startsWith("Removed the session of client \"absent\"");
    assertThat(run("repair", data.toString(), "list").out()).anyMatch(line -> line.contains("messages waiting: 0 with "));
  }

  @Test
  void theLoadTestOfAnUnpackedArchiveLoadsTheBroker() throws Exception {
    Process tar = new ProcessBuilder("tar", "-xzf", HOME + ".tar.gz", "-C", directory.toString()).inheritIO().start();
    assertThat(tar.waitFor()).isZero();
    Path home = directory.resolve(HOME.getFileName());
    Path page = directory.resolve("page.html");
    try (var broker = BrokerProcess.start(directory.resolve("data"))) {
      String port = Integer.toString(broker.port());
      var good = runOf(home, "bench", "run", "one-to-one-qos1", "-p", port, "--set", "pairs=10", "--set", "for=1s", "--html", page.toString());
      assertThat(good.err()).isEmpty();
      assertThat(good.code()).as("%s", good).isZero();
      assertThat(String.join("\n", good.out())).contains("met   lost: 0 (was 0)");
      assertThat(page).content().contains("new uPlot(");

      var tooFew = runOf(home, "bench", "pub", "-p", port, "-c", "1", "-t", "t", "-L", "2", "--rate", "10/s", "--expect", "published=3");
      assertThat(tooFew.code()).as("%s", tooFew).isEqualTo(1);
      assertThat(String.join("\n", tooFew.out())).contains("NOT MET  published: ", "(was 2)");
    }
  }

  @Test
  void unknownArgumentsOfTheLoadTestAreNamed() throws Exception {
    var wrong = run("bench", "run", "no such scenario");
    assertThat(wrong.code()).isEqualTo(2);
    assertThat(wrong.err()).singleElement().asString().startsWith("bench: no such scenario: there is no such file");
    assertThat(run("bench", "--help").out()).anyMatch(line -> line.contains("scenarios"));
  }
}
