package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.Dunlinctl;
import dunlin.harness.PageCommands;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.retain.TopicKeys;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every command for {@code dunlin}, {@code dunlinctl}, {@code curl} and {@code printf} in a code block of a document is run by a test as it stands there, or has a reason why not. */
class DocumentedCommandsIT {
  private static final Path DOCUMENTS = Path.of("../../docs");
  private static final Pattern COMMAND = Pattern.compile("(?:[A-Z_]+=\\S+ )?(?:bin/)?(?:dunlin|dunlinctl|curl|printf)(?: .*)?");
  private static final int SECONDS_MAX = 90;
  private static final Duration LONG = Duration.ofMinutes(2);

  /** Which other test runs a command, or why none does. A command is in it by its document and its beginning. */
  private static final Map<String, String> ELSEWHERE =
      Map.ofEntries(
          Map.entry("admin-api.md bin/dunlinctl", "DunlinctlIT, and CtlByTlsIT those with --address"),
          Map.entry("running.md bin/dunlin -Ddunlin.data-dir=store1", "RolesIT"),
          Map.entry("running.md bin/dunlin -Ddunlin.data-dir=dist1", "RolesIT"),
          Map.entry("running.md bin/dunlin -Ddunlin.data-dir=front", "RolesIT"),
          Map.entry("running.md bin/dunlin -Ddunlin.data-dir=data", "GrowIT"),
          Map.entry("authentication.md bin/dunlin -Ddunlin.auth.jwt.jwks-url=", "asks a server of another company; the tests of tokens have one of their own"),
          Map.entry("authentication.md bin/dunlin -Ddunlin.auth.http.url=", "asks a server of another company; the tests of the service have one of their own"),
          Map.entry("bench.md bin/dunlin bench run scenario.yaml", "the file is the reader's own"),
          Map.entry("bench.md bin/dunlin bench run broadcast", "takes minutes; the scenarios have tests of their own"),
          Map.entry("bench.md bin/dunlin bench worker", "wants other machines; the tests of the load test have workers on this one"),
          Map.entry("bench.md bin/dunlin bench director", "wants other machines; the tests of the load test have workers on this one"));

  @TempDir private Path directory;

  private final List<String> commands = new ArrayList<>();
  private final Set<String> run = new HashSet<>();

  private record Ended(int code, String out) {}

  @BeforeEach
  void findCommands() throws IOException {
    List<Path> documents = new ArrayList<>(List.of(Path.of("../../README.md")));
    try (Stream<Path> files = Files.list(DOCUMENTS)) {
      files.filter(file -> file.toString().endsWith(".md")).sorted().forEach(documents::add);
    }
    for (Path document : documents) {
      boolean fenced = false;
      String continued = "";
      for (String line : Files.readAllLines(document)) {
        if (line.startsWith("```")) fenced = !fenced;
        boolean code = fenced || line.startsWith("    ");
        String text = code ? continued + line.strip() : "";
        continued = text.endsWith("\\") ? text.substring(0, text.length() - 1).strip() + " " : "";
        String command = text.replaceFirst(" +# .*", "");
        if (continued.isEmpty() && COMMAND.matcher(command).matches()) commands.add(document.getFileName() + " " + command);
      }
    }
    Files.createDirectories(directory.resolve("bin"));
    for (String script : List.of("dunlin", "dunlinctl"))
      Files.createSymbolicLink(directory.resolve("bin").resolve(script), Path.of(System.getProperty("dist.directory"), "bin", script).toAbsolutePath());
    Files.createDirectories(directory.resolve("etc/dunlin"));
    Files.createDirectories(directory.resolve("var/lib"));
  }

  @Test
  void eachCommandIsRunOrExcepted() throws Exception {
    assertThat(commands).hasSizeGreaterThan(80);
    assertThat(ELSEWHERE.keySet()).as("those that are excepted are in the documents").allMatch(beginning -> commands.stream().anyMatch(command -> command.startsWith(beginning)));
    files();
    atABrokerWithUsers();
    Files.move(directory.resolve("data"), directory.resolve("data-with-users")); // commands of dunlinctl are for data/
    atABroker();
    withDataOfAStoppedBroker();
    brokersAreStarted();
    assertThat(commands.stream().filter(command -> !run.contains(command) && ELSEWHERE.keySet().stream().noneMatch(command::startsWith)))
        .as("commands of documents that no test runs")
        .isEmpty();
  }

  /** Those that need files only. */
  private void files() throws Exception {
    for (String command : of("authentication.md bin/dunlin passwd")) {
      assertThat(shell(command, "correct horse battery\n").code()).as(command).isZero();
      assertThat(Files.readString(directory.resolve("etc/dunlin/passwords"))).contains("\nsensor-17:");
    }
    List<String> rules = Files.readAllLines(DOCUMENTS.resolve("authorisation.md")).stream().filter(line -> line.matches("    (group|deny|allow) .*")).map(String::strip).toList();
    Files.write(directory.resolve("etc/dunlin/acl"), rules);
    for (String command : of("authorisation.md bin/dunlin check-acl")) {
      Ended ended = shell(command, "");
      assertThat(ended.code()).as(ended.out()).isZero();
      assertThat(ended.out()).contains("allowed by ");
    }
    List<String> keys = new ArrayList<>();
    for (String command : of("admin-api.md printf")) keys.add(shell(command, "").out());
    assertThat(keys).containsExactly(HexFormat.of().formatHex(TopicKeys.of("default", "plant/7")), "000764656661756c74" + hex("plant/7/#"));
    for (String command : of("running.md bin/dunlin check")) {
      Ended ended = shell(command + " -Ddunlin.listeners.tcp.port=0", "");
      assertThat(ended.code()).as(ended.out()).isZero();
    }
    for (String command : of("running.md bin/dunlin bench")) assertThat(shell(command, "").out()).contains("doctor", "pub", "sub");
    for (String command : of("bench.md bin/dunlin bench doctor")) assertThat(shell(command, "").code()).as("as this machine is").isIn(0, 1);
  }

  private static String hex(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Those that need a broker with users. */
  private void atABrokerWithUsers() throws Exception {
    try (var broker = BrokerProcess.start(directory.resolve("data"), "dunlin.store.fsync=false", "dunlin.admin.port=0", "dunlin.auth.users.enabled=true")) {
      assertThat(broker.adminPort()).isPositive();
      for (String document : List.of("tenants.md", "authorisation.md")) {
        for (String command : of(document + " bin/dunlinctl")) {
          Ended ended = shell(command, "");
          assertThat(ended.code()).as(ended.out()).isZero();
        }
      }
    }
  }

  /** Those that need a broker with clients, messages and a directory for backups. */
  private void atABroker() throws Exception {
    try (var broker = BrokerProcess.start(directory.resolve("data"), "dunlin.store.fsync=false", "dunlin.admin.port=0", "dunlin.backup.directory=" + directory.resolve("backup/dunlin"));
        var api = ApiCalls.of(directory.resolve("data"))) {
      try (var client = RawClient.connected(broker.port(), Connect.of("sensor-17"))) {
        assertThat(client.publishAndWait("plant/state", "on", true)).isLessThan(0x80);
      }
      for (String command : of("backup.md bin/dunlinctl")) {
        Ended ended = shell(command, "");
        assertThat(ended.code()).as(ended.out()).isZero();
      }
      await("the backup is complete").atMost(LONG).until(() -> !api.get("/backup").member("state").equals("running"));
      assertThat(api.get("/backup").member("state")).isEqualTo("complete");
      traces(api);
      tables();
      for (String command : of("admin-api.md curl -H")) assertThat(shell(command, "").out()).contains("\"items\"");
      for (String command : of("admin-api.md curl -N")) watched(command, api);
      for (String kind : List.of("conn", "sub", "pub")) {
        for (String command : of("bench.md bin/dunlin bench " + kind)) {
          String shorter = command.replace("-h broker", "-h 127.0.0.1:" + broker.port()).replace("-c 10000", "-c 10").replace("-R 1000", "-R 10") + " --duration 1s";
          Ended ended = shell(shorter, "");
          assertThat(ended.code()).as(ended.out()).isZero();
        }
      }
    }
  }

  /** Commands of tables have placeholders, so each is done or refused with a reason; none is wrong. ClusterOperationsIT has those of the cluster. */
  private void tables() throws Exception {
    String file = Files.writeString(directory.resolve("etc/dunlin/lines"), "correct horse battery\n").toString();
    Map<String, String> values =
        Map.ofEntries(
            Map.entry("NAME", "vera"), Map.entry("ROLE", "viewer"), Map.entry("NAMES", "reader"), Map.entry("FILE", file), Map.entry("USER", "alice"), Map.entry("KIND", "client"),
            Map.entry("VALUE", "van-7"), Map.entry("N", "60"), Map.entry("TEXT", "why"), Map.entry("TENANT", "blue"), Map.entry("LIMITS", "connections=10"),
            Map.entry("ACTION", "publish"), Map.entry("TOPIC", "plant/1"), Map.entry("CLIENT", "van-7"), Map.entry("QOS", "1"));
    List<String> listed = PageCommands.all().stream().filter(command -> !command.startsWith("cluster ")).toList();
    assertThat(listed).hasSizeGreaterThan(20);
    for (String command : listed) {
      for (String[] words : PageCommands.filled(command, values)) {
        Dunlinctl ended = Dunlinctl.run(directory, directory.resolve("data"), words);
        assertThat(ended.code()).as("%s: %s", command, ended.err()).isIn(0, 1);
      }
    }
  }

  private void traces(ApiCalls api) throws Exception {
    for (String command : of("tracing.md bin/dunlinctl ledger")) {
      Ended ended = shell(command, "");
      assertThat(ended.code()).as(ended.out()).isZero();
    }
    String started = "";
    for (String command : of("tracing.md bin/dunlinctl trace start")) {
      Ended ended = shell(command, "");
      assertThat(ended.code()).as(ended.out()).isZero();
      started = api.get("/traces").members("trace").getFirst();
      assertThat(ended.out()).contains(started);
    }
    for (String command : of("tracing.md bin/dunlinctl trace follow")) {
      assertThat(api.delete("/traces/" + started).status()).as("so that it ends").isEqualTo(200);
      Ended ended = shell(command.replace("1b2c3d4e", started), "");
      assertThat(ended.code()).as(ended.out()).isZero();
    }
  }

  /** A stream without an end: it is read until it shows what is published. */
  private void watched(String command, ApiCalls api) throws Exception {
    Process process = started(command, "");
    try (var out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      await("the stream shows a message")
          .atMost(LONG)
          .until(
              () -> {
                assertThat(api.post("/publish", "{\"topic\":\"plant/7\",\"payload\":\"on\"}").status()).isEqualTo(200);
                while (out.ready()) if (out.readLine().contains("plant/7")) return true;
                return false;
              });
    } finally {
      process.destroyForcibly();
    }
  }

  /** Those for a data directory that no broker has open. */
  private void withDataOfAStoppedBroker() throws Exception {
    for (String command : of("backup.md bin/dunlin restore")) {
      Ended ended = shell(command, "");
      assertThat(ended.code()).as(ended.out()).isZero();
    }
    Path data = directory.resolve("var/lib/dunlin");
    try (var broker = BrokerProcess.start(data, "dunlin.store.fsync=false");
        var absent = RawClient.connected(broker.port(), Connect.of("sensor-17"));
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      absent.subscribe("for/17", 1);
      absent.disconnect();
      for (int i = 0; i < 50; i++) publisher.publishAndWait("for/17", "waits " + i);
      publisher.publishAndWait("plant/state", "kept", true);
      broker.terminate();
      assertThat(broker.awaitExit(LONG)).isIn(0, 143);
    }
    List<String> repairs = of("running.md bin/dunlin repair");
    assertThat(repairs.stream().map(command -> command.split(" ", -1)[3])).containsExactly("list", "remove-session", "remove-message", "remove-retained");
    for (String kind : List.of("list", "remove-message", "remove-retained", "remove-session")) {
      String command = repairs.stream().filter(each -> each.contains(" " + kind)).findFirst().orElseThrow();
      Ended ended = shell(command, "");
      assertThat(ended.code()).as("%s: %s", command, ended.out()).isZero();
    }
    Set<String> formed = new HashSet<>(of("backup.md bin/dunlin form-cluster"));
    formed.addAll(of("running.md bin/dunlin form-cluster"));
    assertThat(formed).hasSize(1);
    Ended ended = shell(formed.iterator().next(), "");
    assertThat(ended.code()).as(ended.out()).isZero();
  }

  /** Those that start a broker, which gets a free port and a directory of its own. */
  private void brokersAreStarted() throws IOException {
    List<String> started = new ArrayList<>(of("running.md bin/dunlin -Ddunlin.listeners"));
    started.addAll(of("running.md DUNLIN_LISTENERS__TCP__PORT=1884 bin/dunlin"));
    started.addAll(ran("running.md bin/dunlin", commands.stream().filter("running.md bin/dunlin"::equals).toList()));
    started.addAll(of("authentication.md bin/dunlin -Ddunlin.auth.password-file"));
    started.addAll(of("authorisation.md bin/dunlin -Ddunlin.auth.acl-file"));
    assertThat(started).hasSize(5);
    for (String command : started) {
      Path data = Files.createTempDirectory(directory, "started");
      String own = "env " + here(command) + " -Ddunlin.data-dir=" + data + " -Ddunlin.listeners.tcp.port=0 -Ddunlin.admin.port=-1";
      try (var broker = BrokerProcess.ofCommand(directory, own)) {
        broker.awaitStarted(LONG);
      }
    }
  }

  /** The commands that begin so, which count as run from now on; there is at least one. */
  private List<String> of(String beginning) {
    List<String> found = commands.stream().filter(command -> command.startsWith(beginning) && ELSEWHERE.keySet().stream().noneMatch(command::startsWith)).toList();
    return ran(beginning, found);
  }

  private List<String> ran(String what, List<String> found) {
    assertThat(found).as(what).isNotEmpty();
    run.addAll(found);
    return found.stream().map(command -> command.substring(command.indexOf(' ') + 1)).distinct().collect(Collectors.toList());
  }

  /** In the place of the machine's own directories are those of the test. */
  private String here(String command) {
    return command.replace("/etc/dunlin", directory + "/etc/dunlin").replace("/var/lib/dunlin", directory + "/var/lib/dunlin").replace("/backup/dunlin", directory + "/backup/dunlin");
  }

  private Ended shell(String command, String in) throws IOException, InterruptedException {
    Path out = Files.createTempFile(directory, "out", "");
    Process process = processOf(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
    type(process, in);
    try {
      assertThat(process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)).as("it ends: %s", command).isTrue();
    } finally {
      process.destroyForcibly();
    }
    return new Ended(process.exitValue(), Files.readString(out));
  }

  private Process started(String command, String in) throws IOException {
    Process process = processOf("exec " + command).redirectErrorStream(true).start();
    type(process, in);
    return process;
  }

  private static void type(Process process, String in) {
    try (var typed = process.getOutputStream()) {
      typed.write(in.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      if (!in.isEmpty()) throw new UncheckedIOException(e);
    }
  }

  private ProcessBuilder processOf(String command) {
    ProcessBuilder builder = new ProcessBuilder("sh", "-c", here(command)).directory(directory.toFile());
    builder.environment().put("DUNLIN_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("DUNLIN_JVM_OPTS", "-Xmx256m");
    return builder;
  }
}
