package dunlin.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/** Damage to the files of a stopped node, as a disk can do it. */
final class Damage {
  private Damage() {}

  /** Flips a bit in an entry of the Raft log. */
  static String flipLog(Trial trial, Cluster.Node node) throws IOException {
    var directory = node.site.data().resolve("raft").resolve(Ledger.RANGE.uuid().toString()).resolve("current");
    return flip(pick(files(directory, "log_*"), trial.random()), trial.random());
  }

  /** Flips a bit of a table of RocksDB, or, before there is one, of its list of tables. */
  static String flipRows(Trial trial, Cluster.Node node) throws IOException {
    var directory = node.site.data().resolve("ranges").resolve(Ledger.RANGE.uuid().toString());
    var tables = files(directory, "*.sst");
    return flip(pick(tables.isEmpty() ? files(directory, "MANIFEST-*") : tables, trial.random()), trial.random());
  }

  private static List<Path> files(Path directory, String glob) throws IOException {
    var files = new ArrayList<Path>();
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

  private static String flip(Path file, Random random) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    int end = bytes.length;
    while (end > 1 && bytes[end - 1] == 0) end--; // zeros that were written ahead contain no entry yet
    int at = random.nextInt(end);
    int bit = random.nextInt(8);
    bytes[at] ^= (byte) (1 << bit);
    Files.write(file, bytes);
    return "bit " + bit + " of byte " + at + " of " + end + " in " + file;
  }

  static void wipe(Path tree) {
    try (var found = Files.walk(tree)) {
      for (Path path : found.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
