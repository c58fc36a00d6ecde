package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Debian package: what is in it, and what installing, removing and purging it does in a root of its own. */
class DebianPackageIT {
  private static final Path DIRECTORY = Path.of(System.getProperty("dist.directory"));
  private static final Path PACKAGE = Path.of(DIRECTORY + ".deb");
  private static final String BUILD_TIME = System.getProperty("build.time");

  @TempDir Path directory;

  @BeforeEach
  void needsTheToolsOfDebian() {
    assumeTrue(Stream.of(System.getenv("PATH").split(":", -1)).anyMatch(folder -> Files.isExecutable(Path.of(folder, "dpkg-deb"))), "There is no dpkg-deb on PATH.");
  }

  private static String run(String... command) throws IOException, InterruptedException {
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(Map.of("TZ", "UTC", "LC_ALL", "C.UTF-8"));
    Process process = builder.start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as("%s: %s", String.join(" ", command), said).isZero();
    return said;
  }

  /** A line of {@code dpkg-deb --contents}. */
  private record Entry(String mode, String owner, String time) {}

  /** By their paths, folders with a slash at the end. */
  private static Map<String, Entry> contents() throws Exception {
    Map<String, Entry> entries = new TreeMap<>();
    for (String line : run("dpkg-deb", "--contents", PACKAGE.toString()).lines().toList()) {
      String[] fields = line.split(" +", 6);
      entries.put(fields[5].substring(1), new Entry(fields[0], fields[1], fields[3] + "T" + fields[4]));
    }
    return entries;
  }

  /** The files of the archive, by their paths below it. */
  private static List<String> installation() throws IOException {
    try (Stream<Path> files = Files.walk(DIRECTORY)) {
      return files.filter(Files::isRegularFile).map(file -> DIRECTORY.relativize(file).toString()).filter(file -> !file.matches("lib/[^/]*\\.aot.*")).sorted().toList();
    }
  }

  @Test
  void itHasTheFilesOfTheArchiveTheUnitsAndTheSettings() throws Exception {
    Map<String, Entry> entries = contents();
    List<String> expected = new ArrayList<>(installation().stream().map(file -> "/opt/dunlin/" + file).toList());
    assertThat(expected).hasSizeGreaterThan(50).contains("/opt/dunlin/bin/dunlin");
    expected.addAll(
        List.of(
            "/usr/lib/systemd/system/dunlin.service", "/usr/lib/systemd/system/dunlin@.service", "/usr/lib/sysusers.d/dunlin.conf", "/etc/dunlin/dunlin.conf",
            "/etc/default/dunlin"));

    assertThat(entries.keySet().stream().filter(path -> !path.endsWith("/"))).containsExactlyInAnyOrderElementsOf(expected);
    entries.forEach(
        (path, entry) -> {
          assertThat(entry.owner).as(path).isEqualTo("root/root");
          boolean program = path.startsWith("/opt/dunlin/bin/") || path.endsWith("/dunlin-probe");
          String mode = path.endsWith("/") ? "drwxr-xr-x" : program ? "-rwxr-xr-x" : "-rw-r--r--";
          if (path.equals("/etc/dunlin/")) mode = "drwxr-x---";
          if (path.equals("/etc/dunlin/dunlin.conf")) mode = "-rw-r-----";
          assertThat(entry.mode).as(path).isEqualTo(mode);
        });
    String unit = Files.readString(DIRECTORY.resolve("deploy/systemd/dunlin.service"));
    assertThat(unit).as("the unit starts what the package has").contains("ExecStart=/opt/dunlin/bin/dunlin\n", "DUNLIN_CONFIG=/etc/dunlin/dunlin.conf\n", "EnvironmentFile=-/etc/default/dunlin\n");
  }

  @Test
  void twoBuildsHaveTheSameTimes() throws Exception {
    contents().forEach((path, entry) -> assertThat(entry.time).as(path).isEqualTo(BUILD_TIME.substring(0, "2000-01-01T00:00".length())));
  }

  @Test
  void itSaysWhatItIsAndWhichFilesAreTheAdministrators() throws Exception {
    String product = DIRECTORY.getFileName().toString();
    String version = product.substring("dunlin-".length()).replace("-SNAPSHOT", "~SNAPSHOT");
    assertThat(run("dpkg-deb", "--field", PACKAGE.toString()).lines())
        .contains("Package: dunlin", "Version: " + version, "Architecture: all", "Depends: passwd")
        .anyMatch(line -> line.startsWith("Recommends: java25-runtime-headless | "))
        .anyMatch(line -> line.matches("Installed-Size: [1-9][0-9]{4,}"));

    run("dpkg-deb", "--control", PACKAGE.toString(), directory.toString());
    assertThat(Files.readAllLines(directory.resolve("conffiles"))).containsExactlyInAnyOrder("/etc/dunlin/dunlin.conf", "/etc/default/dunlin");
    for (String script : List.of("postinst", "prerm", "postrm")) {
      assertThat(directory.resolve(script)).isExecutable();
      assertThat(run("sh", "-n", directory.resolve(script).toString())).as(script).isEmpty();
    }
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files.map(file -> file.getFileName().toString())).containsExactlyInAnyOrder("control", "conffiles", "md5sums", "postinst", "prerm", "postrm");
    }
  }

  // --------------------------------------------------------------------------------------------------------- in a root of its own

  /** Runs the scripts with the programs of this system, and has them change that root. */
  private void dpkg(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("dpkg", "--root=" + directory, "--force-script-chrootless", "--force-depends"));
    command.addAll(Arrays.asList(arguments));
    run(command.toArray(String[]::new));
  }

  private void aSystemWithoutPackages() throws IOException {
    assumeTrue(System.getProperty("user.name").equals("root"), "Only root installs packages.");
    for (String folder : List.of("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "var/lib", "etc", "opt", "usr/lib")) Files.createDirectories(directory.resolve(folder));
    for (String file : List.of("var/lib/dpkg/status", "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow")) Files.createFile(directory.resolve(file));
  }

  private List<String> users() throws IOException {
    return Files.readAllLines(directory.resolve("etc/passwd")).stream().filter(line -> line.startsWith("dunlin:")).toList();
  }

  private Object attribute(String file, String name) throws IOException {
    return Files.getAttribute(directory.resolve(file), "unix:" + name);
  }

  @Test
  void itIsInstalledRemovedAndPurged() throws Exception {
    aSystemWithoutPackages();
    Path settings = directory.resolve("etc/dunlin/dunlin.conf");
    Path data = directory.resolve("var/lib/dunlin/meta");

    dpkg("--install", PACKAGE.toString());
    assertThat(Files.readString(directory.resolve("var/lib/dpkg/status"))).contains("Status: install ok installed");
    assertThat(directory.resolve("opt/dunlin/bin/dunlin")).isExecutable();
    assertThat(users()).singleElement().asString().contains(":/var/lib/dunlin:").endsWith("nologin");
    String group = Files.readAllLines(directory.resolve("etc/group")).stream().filter(line -> line.startsWith("dunlin:")).findFirst().orElseThrow().split(":", -1)[2];
    for (String file : List.of("etc/dunlin", "etc/dunlin/dunlin.conf")) assertThat(attribute(file, "gid")).as(file).hasToString(group);

    Files.writeString(settings, "dunlin.listeners.tcp.port = 1884\n");
    Files.setAttribute(settings, "unix:gid", 0);
    dpkg("--install", PACKAGE.toString());
    assertThat(settings).as("an upgrade keeps what the administrator has written").content().isEqualTo("dunlin.listeners.tcp.port = 1884\n");
    assertThat(attribute("etc/dunlin/dunlin.conf", "gid")).as("and whose it is").isEqualTo(0);

    Files.createDirectories(data.getParent());
    Files.createFile(data);
    Files.createFile(directory.resolve("opt/dunlin/lib/dunlin.aot"));
    dpkg("--remove", "dunlin");
    assertThat(directory.resolve("opt/dunlin")).as("with what bin/dunlin-train has added").doesNotExist();
    assertThat(settings).exists();
    assertThat(data).exists();
    assertThat(users()).hasSize(1);

    dpkg("--purge", "dunlin");
    for (String gone : List.of("etc/dunlin", "etc/default/dunlin", "var/lib/dunlin", "usr/lib/systemd/system/dunlin.service")) {
      assertThat(directory.resolve(gone)).doesNotExist();
    }
    assertThat(users()).isEmpty();
  }
}
