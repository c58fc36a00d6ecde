package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;

/**
 * The contents of the archive: nothing that makes two builds of the same sources differ, as far as one build shows it
 * ({@code build/reproducible} compares two); a licence of every part; and the load test separate from the broker.
 */
class ArchiveIT {
  private static final Path DIRECTORY = Path.of(System.getProperty("dist.directory"));
  private static final Path ARCHIVE = Path.of(DIRECTORY + ".tar.gz");
  private static final Instant BUILD_TIME = Instant.parse(System.getProperty("build.time"));

  private static final String PRODUCT = DIRECTORY.getFileName().toString();
  private static final String LOAD_TEST = PRODUCT.replace("dunlin-", "dunlin-load-");
  private static final Pattern LICENSED = Pattern.compile("\\([^:()]+:([^:()]+):([^: ]+) - [^()]*\\)$");

  private static final int BLOCK = 512;
  private static final int GZIP_TIME = 4;

  /** An entry of a tar archive, by the fields of its header. */
  private record Entry(String name, long owner, long group, long size, Instant time) {
    static Entry of(byte[] header) {
      return new Entry(
          text(header, 0, 100), octal(header, 108, 8), octal(header, 116, 8), octal(header, 124, 12),
          Instant.ofEpochSecond(octal(header, 136, 12)));
    }

    private static String text(byte[] header, int from, int length) {
      String text = new String(header, from, length, StandardCharsets.US_ASCII);
      int end = text.indexOf(0);
      return end < 0 ? text : text.substring(0, end);
    }

    private static long octal(byte[] header, int from, int length) {
      return Long.parseLong(text(header, from, length).trim(), 8);
    }
  }

  @Test
  void noEntryOfTheArchiveHasABuildTimeOrUser() throws IOException {
    List<Entry> entries = entries();

    assertThat(entries).hasSizeGreaterThan(50).anyMatch(entry -> entry.name.endsWith("/bin/dunlin"));
    assertThat(entries).allSatisfy(entry -> assertThat(entry.time).as(entry.name).isEqualTo(BUILD_TIME));
    assertThat(entries).allSatisfy(entry -> assertThat(entry.owner + entry.group).as(entry.name).isZero());
    byte[] gzip = Files.readAllBytes(ARCHIVE);
    for (int i = 0; i < 4; i++) assertThat(gzip[GZIP_TIME + i]).as("the time of the compressed file").isZero();
  }

  @Test
  void noEntryOfAJarHasABuildTime() throws IOException {
    LocalDateTime expected = LocalDateTime.ofInstant(BUILD_TIME, ZoneOffset.UTC);
    List<Path> jars = jars("lib", "lib/bench").filter(jar -> jar.getFileName().toString().startsWith("dunlin-")).toList();
    assertThat(jars).as("the modules of the product, and the load test").hasSize(11);
    for (Path jar : jars) {
      try (var zip = new ZipFile(jar.toFile())) {
        assertThat(zip.stream()).allSatisfy(entry -> assertThat(entry.getTimeLocal()).as(jar + ": " + entry).isEqualTo(expected));
      }
    }
  }

  @Test
  void everyPartHasALicence() throws IOException {
    List<String> licences = Files.readAllLines(DIRECTORY.resolve("THIRD-PARTY.txt"));
    Set<String> parts = Bom.read().reachedFrom(PRODUCT);
    List<String> foreign = jars("lib", "lib/bench").map(ArchiveIT::part).filter(part -> !part.startsWith("dunlin-")).toList();

    assertThat(foreign).hasSizeGreaterThan(50);
    for (String jar : foreign) {
      assertThat(parts).as("parts in sbom.json, for %s", jar).anyMatch(part -> isOf(jar, part));
      assertThat(licences).as("lines of THIRD-PARTY.txt, for %s", jar).anyMatch(line -> isOf(jar, licensed(line)));
    }
  }

  @Test
  void theBrokerAndTheLoadTestHaveSeparateAndCompleteClassPaths() throws IOException {
    var bom = Bom.read();
    Set<String> broker = bom.without(LOAD_TEST).reachedFrom(PRODUCT);
    List<String> apart = jars("lib/bench").map(ArchiveIT::part).toList();
    List<String> all = jars("lib", "lib/bench").map(ArchiveIT::part).toList();

    assertThat(jars("lib").map(ArchiveIT::part)).allSatisfy(jar -> assertThat(broker).as(jar).anyMatch(part -> isOf(jar, part)));
    assertThat(apart).isNotEmpty().noneMatch(jar -> broker.stream().anyMatch(part -> isOf(jar, part)));
    assertThat(bom.reachedFrom(LOAD_TEST)).hasSizeGreaterThan(20).allSatisfy(part -> assertThat(all).as(part).anyMatch(jar -> isOf(jar, part)));
  }

  private static Stream<Path> jars(String... folders) throws IOException {
    var jars = new ArrayList<Path>();
    for (String folder : folders) {
      try (var files = Files.list(DIRECTORY.resolve(folder))) {
        files.filter(file -> file.toString().endsWith(".jar")).forEach(jars::add);
      }
    }
    return jars.stream();
  }

  /** The name and version of a part, and its platform, if any. */
  private static String part(Path jar) {
    return jar.getFileName().toString().replace(".jar", "");
  }

  /** The part that a line of THIRD-PARTY.txt names; null for other lines. */
  private static String licensed(String line) {
    var part = LICENSED.matcher(line);
    return part.find() ? part.group(1) + "-" + part.group(2) : "";
  }

  private static boolean isOf(String jar, String part) {
    return jar.equals(part) || jar.startsWith(part + "-");
  }

  /** The contents of sbom.json: name and version of each part and of its dependencies. */
  private record Bom(Map<String, Set<String>> needs) {
    static Bom read() throws IOException {
      var needs = new HashMap<String, Set<String>>();
      JsonObject all = JsonParser.parseString(Files.readString(DIRECTORY.resolve("sbom.json"))).getAsJsonObject();
      for (JsonElement each : all.getAsJsonArray("dependencies")) {
        JsonObject part = each.getAsJsonObject();
        var needed = needs.computeIfAbsent(name(part.get("ref")), _ -> new HashSet<>());
        if (part.has("dependsOn")) part.getAsJsonArray("dependsOn").forEach(on -> needed.add(name(on)));
      }
      return new Bom(needs);
    }

    /** From {@code pkg:maven/group/name@version?type=jar}. */
    private static String name(JsonElement reference) {
      String text = reference.getAsString();
      return text.substring(text.lastIndexOf('/') + 1, text.indexOf('?')).replace('@', '-');
    }

    Bom without(String part) {
      var rest = new HashMap<>(needs);
      rest.replaceAll((_, needed) -> needed.stream().filter(each -> !each.equals(part)).collect(Collectors.toSet()));
      return new Bom(rest);
    }

    /** This part and all of its dependencies. */
    Set<String> reachedFrom(String part) {
      var reached = new HashSet<String>();
      var next = new ArrayDeque<>(List.of(part));
      while (!next.isEmpty()) {
        String each = next.pop();
        if (reached.add(each)) next.addAll(needs.getOrDefault(each, Set.of()));
      }
      return reached;
    }
  }

  private static List<Entry> entries() throws IOException {
    var entries = new ArrayList<Entry>();
    try (var in = new GZIPInputStream(Files.newInputStream(ARCHIVE))) {
      while (true) {
        byte[] header = in.readNBytes(BLOCK);
        assertThat(header).as("an archive ends with empty blocks").hasSize(BLOCK);
        if (header[0] == 0) return entries;
        var entry = Entry.of(header);
        in.skipNBytes((entry.size + BLOCK - 1) / BLOCK * BLOCK);
        entries.add(entry);
      }
    }
  }
}
