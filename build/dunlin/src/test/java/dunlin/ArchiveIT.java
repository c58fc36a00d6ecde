package dunlin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;

/** What would make two builds of the same sources differ, as far as one build shows it; {@code build/reproducible} compares two. */
class ArchiveIT {
  private static final Path DIRECTORY = Path.of(System.getProperty("dist.directory"));
  private static final Path ARCHIVE = Path.of(DIRECTORY + ".tar.gz");
  private static final Instant BUILD_TIME = Instant.parse(System.getProperty("build.time"));

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
  void noEntryOfTheArchiveSaysWhenOrByWhomItWasBuilt() throws IOException {
    List<Entry> entries = entries();

    assertThat(entries).hasSizeGreaterThan(50).anyMatch(entry -> entry.name.endsWith("/bin/dunlin"));
    assertThat(entries).allSatisfy(entry -> assertThat(entry.time).as(entry.name).isEqualTo(BUILD_TIME));
    assertThat(entries).allSatisfy(entry -> assertThat(entry.owner + entry.group).as(entry.name).isZero());
    byte[] gzip = Files.readAllBytes(ARCHIVE);
    for (int i = 0; i < 4; i++) assertThat(gzip[GZIP_TIME + i]).as("the time of the compressed file").isZero();
  }

  @Test
  void noEntryOfAJarSaysWhenItWasBuilt() throws IOException {
    LocalDateTime expected = LocalDateTime.ofInstant(BUILD_TIME, ZoneOffset.UTC);
    List<Path> jars;
    try (var all = Files.list(DIRECTORY.resolve("lib"))) {
      jars = all.filter(jar -> jar.getFileName().toString().matches("dunlin-.*\\.jar")).toList();
    }
    assertThat(jars).as("the modules of the product").hasSize(9);
    for (Path jar : jars) {
      try (var zip = new ZipFile(jar.toFile())) {
        assertThat(zip.stream()).allSatisfy(entry -> assertThat(entry.getTimeLocal()).as(jar + ": " + entry).isEqualTo(expected));
      }
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
