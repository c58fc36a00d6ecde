package dunlin.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;

/** Damage to the files of a stopped node, as a disk can do it. */
public final class Damage {
  private static final int ZEROES = 4096;

  /** What is damaged, and how. */
  public enum Kind {
    LOG_BIT,
    LOG_ZEROED,
    LOG_CUT_SHORT,
    ROWS_BIT,
    ROWS_ZEROED,
    ROWS_CUT_SHORT,
    /** The node was killed when a snapshot was about to take the place of rows that had been moved away. */
    SNAPSHOT_CUT_SHORT;

    private boolean isOfLog() {
      return name().startsWith("LOG");
    }
  }

  /**
   * What was done to a file.
   *
   * @param file as it is now
   * @param what a description
   */
  public record Damaged(Kind kind, Path file, String what) {
    private static final Pattern CLOSED_LOG = Pattern.compile("log_\\d+-\\d+");

    /** Whether the next start must find it: all that a closed file of a log has must be there. The last file may end anywhere, as after a crash; rows are checked when they are read. */
    public boolean mustBeFound() {
      return kind.isOfLog() && CLOSED_LOG.matcher(file.getFileName().toString()).matches();
    }
  }

  private Damage() {}

  /** Flips a bit in an entry of the Raft log. */
  static String flipLog(Trial trial, Cluster.Node node) throws IOException {
    return damage(Kind.LOG_BIT, pick(logs(log(node.site.data(), Ledger.RANGE.uuid().toString())), trial.random()), trial.random());
  }

  /** Flips a bit of a table of RocksDB, or, before there is one, of its list of tables. */
  static String flipRows(Trial trial, Cluster.Node node) throws IOException {
    return damage(Kind.ROWS_BIT, pick(tables(rows(node.site.data(), Ledger.RANGE.uuid().toString())), trial.random()), trial.random());
  }

  /** Damages a file of any of a node's replicas. */
  public static Damaged any(Kind kind, Path data, Random random) {
    try {
      var all = new ArrayList<Path>();
      for (String range : ranges(data)) all.addAll(kind.isOfLog() ? logs(log(data, range)) : tables(rows(data, range)));
      Path drawn = pick(all, random);
      Path file = kind == Kind.SNAPSHOT_CUT_SHORT ? inSnapshot(drawn) : drawn;
      return new Damaged(kind, file, damage(kind, file, random));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path log(Path data, String range) {
    return data.resolve("raft").resolve(range).resolve("current");
  }

  private static Path rows(Path data, String range) {
    return data.resolve("ranges").resolve(range);
  }

  /** Makes the rows that have a file the snapshot that replaces them; the same file in it. */
  private static Path inSnapshot(Path file) throws IOException {
    Path rows = file.resolveSibling("");
    Path snapshot = rows.resolveSibling(rows.getFileName() + ".ready");
    Files.move(rows, snapshot, StandardCopyOption.ATOMIC_MOVE);
    return snapshot.resolve(file.getFileName());
  }

  private static List<String> ranges(Path data) throws IOException {
    try (var found = Files.list(data.resolve("raft"))) {
      return found.map(each -> each.getFileName().toString()).sorted().toList();
    }
  }

  private static List<Path> logs(Path directory) throws IOException {
    return files(directory, "log_*");
  }

  private static List<Path> tables(Path directory) throws IOException {
    var tables = files(directory, "*.sst");
    return tables.isEmpty() ? files(directory, "MANIFEST-*") : tables;
  }

  private static List<Path> files(Path directory, String glob) throws IOException {
    var files = new ArrayList<Path>();
    if (!Files.isDirectory(directory)) return files;
    try (var found = Files.newDirectoryStream(directory, glob)) {
      for (Path file : found) if (Files.size(file) > 0) files.add(file);
    }
    files.sort(Comparator.comparing(Path::toString));
    return files;
  }

  private static Path pick(List<Path> files, Random random) {
    if (files.isEmpty()) throw new TrialException("there is nothing to damage");
    return files.get(random.nextInt(files.size()));
  }

  private static String damage(Kind kind, Path file, Random random) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    int end = bytes.length;
    while (end > 1 && bytes[end - 1] == 0) end--; // zeros that were written ahead contain no entry yet
    int at = random.nextInt(end);
    return switch (kind) {
      case LOG_BIT, ROWS_BIT -> {
        int bit = random.nextInt(8);
        bytes[at] ^= (byte) (1 << bit);
        Files.write(file, bytes);
        yield "bit %d of byte %d of %d in %s".formatted(bit, at, end, file);
      }
      case LOG_ZEROED, ROWS_ZEROED -> {
        Arrays.fill(bytes, at, Math.min(end, at + ZEROES), (byte) 0);
        Files.write(file, bytes);
        yield "zeros from byte %d of %d on in %s".formatted(at, end, file);
      }
      case LOG_CUT_SHORT, ROWS_CUT_SHORT, SNAPSHOT_CUT_SHORT -> {
        Files.write(file, Arrays.copyOf(bytes, at));
        yield "cut off at byte %d of %d: %s".formatted(at, end, file);
      }
    };
  }

  public static void wipe(Path tree) {
    try (var found = Files.walk(tree)) {
      for (Path path : found.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
