package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.Completion;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.RocksRange;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Command.Delete;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RangeStoreCrashTest {
  private static final Pattern SEGMENT = Pattern.compile("log_(?:inprogress_)?(\\d+)(?:-\\d+)?");

  @TempDir Path temporary;

  static LongStream seeds() {
    return LongStream.of(1, 2, 3);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void equalsASortedMapAcrossStopsAndCrashes(long seed) throws IOException {
    var random = new Random(seed);
    var model = new TreeMap<String, String>();
    Path directory = temporary.resolve("0");
    for (int life = 1; life <= 4; life++) {
      Path next = temporary.resolve(String.valueOf(life));
      try (var one = OneRange.stepped(directory, settings(1 + random.nextInt(64), 1 + random.nextInt(8), 50, 1))) {
        assertThat(one.rows()).as("seed %d life %d", seed, life).isEqualTo(rows(model));
        var results = new ArrayList<CompletableFuture<String>>();
        for (int i = random.nextInt(1500); i > 0; i--) {
          results.add(one.propose(change(random, model)));
          if (random.nextInt(200) == 0) one.maintain(Duration.ofMillis(random.nextInt(1500))); // while entries are being applied
        }
        CompletableFuture.allOf(results.toArray(CompletableFuture<?>[]::new)).join();
        assertThat(one.rows()).as("seed %d life %d", seed, life).isEqualTo(rows(model));
        if (random.nextInt(3) > 0) {
          OneRange.copy(directory, next);
          directory = next;
        }
      }
    }
  }

  @Test
  void keepsEveryAcknowledgedCommandWhenTheProcessIsKilled() throws Exception {
    Path said = temporary.resolve("said");
    Path data = temporary.resolve("data");
    var child = startWriter(data, said);
    await().atMost(OneRange.DEADLINE).until(() -> Files.size(said) > 100_000);
    child.destroyForcibly().waitFor();
    var acknowledged = new ArrayList<>(Files.readAllLines(said));
    acknowledged.removeIf(line -> !line.endsWith(".")); // the last one may be torn

    try (var one = OneRange.start(data)) {
      assertThat(acknowledged).hasSizeGreaterThan(2000);
      assertThat(one.rows()).containsAll(acknowledged.stream().map(key -> key + "=written").toList());
    }
  }

  /** A busy machine, a suspended container or a garbage collection: no other node could have led in that time. */
  @Test
  void refusesNothingAfterAPause() throws Exception {
    Path said = temporary.resolve("said");
    var child = startWriter(temporary.resolve("data"), said);
    try {
      for (int round = 1; round <= 2; round++) {
        long before = Files.size(said);
        await().atMost(OneRange.DEADLINE).until(() -> ended(child) || Files.size(said) > before + 100_000);
        signal("STOP", child);
        await().pollDelay(StoreSettings.defaults().cluster().electionTimeout().multipliedBy(2)).until(() -> true);
        long stood = Files.size(said);
        signal("CONT", child);
        await().atMost(OneRange.DEADLINE).until(() -> ended(child) || Files.size(said) > stood + 100_000);
        assertThat(child.isAlive()).as("round %d: %s", round, last(said)).isTrue();
      }
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  private static boolean ended(Process child) {
    return !child.isAlive();
  }

  private static String last(Path said) throws IOException {
    return Files.readAllLines(said).getLast();
  }

  private static void signal(String name, Process child) throws IOException, InterruptedException {
    var kill = new ProcessBuilder("kill", "-" + name, String.valueOf(child.pid())).inheritIO().start();
    assertThat(kill.waitFor()).isZero();
  }

  private static Process startWriter(Path data, Path said) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Writer.class.getName(),
            data.toString())
        .redirectOutput(said.toFile())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /** Writes rows and prints each one that was acknowledged, until it is killed or one is refused. */
  static final class Writer {
    public static void main(String[] arguments) {
      var one = OneRange.start(Path.of(arguments[0]));
      for (int i = 0; ; i++) {
        String key = "row" + i + ".";
        while (!one.range.propose(
            new Put(key, "written"),
            new Completion<>() {
              @Override
              public void done(String result) {
                System.out.println(key);
              }

              @Override
              public void failed(StoreException failure) {
                System.out.println(key + " " + failure);
                Runtime.getRuntime().halt(1);
              }
            })) Thread.onSpinWait();
      }
    }
  }

  @Test
  void truncatesTheLogAfterAFlushAndReplaysOnlyTheRest() throws IOException {
    Path running = temporary.resolve("running");
    Path crashed = temporary.resolve("crashed");
    String value = "x".repeat(50_000);
    try (var one = OneRange.stepped(running, settings(1, 8, 100, 60))) {
      for (int i = 0; i < 400; i++) one.apply(new Put("key" + i, value));
      one.maintain(Duration.ZERO); // due by entries and by bytes
      Path log = running.resolve("raft/" + RangeId.firstOf("routes").uuid() + "/current");
      // A segment holds two of these entries. Ratis deletes the files on a thread of its own.
      await().atMost(OneRange.DEADLINE).until(() -> begin(log) > 390);
      for (int i = 0; i < 10; i++) one.apply(new Put("tail" + i, "1"));
      one.maintain(Duration.ofSeconds(59)); // ten entries are too few, and too young
      assertThat(one.meters.get("dunlin.store.log.bytes").gauge().value()).isPositive();
      OneRange.copy(running, crashed);
    }

    try (var one = OneRange.start(crashed)) {
      assertThat(one.logic.applied).as("commands replayed of 410").isEqualTo(10);
      assertThat(one.rows()).hasSize(410);
    }
  }

  @Test
  void aFlushAfterTheLastCommandLeavesNothingToReplay() throws IOException {
    Path running = temporary.resolve("running");
    Path crashed = temporary.resolve("crashed");
    try (var one = OneRange.stepped(running, settings(1, 8, 100, 60))) {
      one.maintain(Duration.ZERO);
      for (int i = 0; i < 10; i++) one.apply(new Put("tail" + i, "1"));
      one.maintain(Duration.ofSeconds(60));
      OneRange.copy(running, crashed);
    }

    try (var one = OneRange.start(crashed)) {
      assertThat(one.logic.applied).isZero();
      assertThat(one.rows()).hasSize(10);
    }
  }

  @Test
  void flushesAnIdleRangeByAge() {
    var id = RangeId.firstOf("routes");
    Path rows = temporary.resolve("ranges/" + id.uuid());
    try (var one = OneRange.stepped(temporary, settings(1, 1, 1000, 5))) {
      one.maintain(Duration.ZERO);
      one.apply(new Put("a", "1"));
      one.maintain(Duration.ofMillis(4999));
      assertThat(RocksRange.holdsTables(id, rows)).isFalse();
      one.maintain(Duration.ofMillis(1));
      assertThat(RocksRange.holdsTables(id, rows)).isTrue();
      assertThat(one.apply(new Append("a", "2"))).isEqualTo("12");
    }
  }

  /** The first entry of a log: segments are log_FIRST-LAST, and log_inprogress_FIRST. */
  private static long begin(Path log) throws IOException {
    try (var found = Files.list(log)) {
      return found
          .map(path -> SEGMENT.matcher(path.getFileName().toString()))
          .filter(Matcher::matches)
          .mapToLong(name -> Long.parseLong(name.group(1)))
          .min()
          .orElse(-1);
    }
  }

  private static Command change(Random random, NavigableMap<String, String> model) {
    String key = "key" + random.nextInt(40);
    String value = String.valueOf(random.nextInt(1000));
    return switch (random.nextInt(5)) {
      case 0 -> {
        model.remove(key);
        yield new Delete(key);
      }
      case 1 -> {
        model.merge(key, value, String::concat);
        yield new Append(key, value);
      }
      default -> {
        model.put(key, value);
        yield new Put(key, value);
      }
    };
  }

  private static List<String> rows(NavigableMap<String, String> model) {
    return model.entrySet().stream().map(row -> row.getKey() + "=" + row.getValue()).toList();
  }

  private static StoreSettings settings(int commandsPerEntry, int entriesInFlight, int snapshotEntries, int ageSeconds) {
    var d = StoreSettings.defaults();
    return new StoreSettings(
        true,
        ClusterSettings.NONE,
        d.memoryBytes(),
        new StoreSettings.Disk(0, 0),
        new StoreSettings.Queue(4096, d.queue().bytesMax()),
        new StoreSettings.Entries(entriesInFlight, commandsPerEntry, d.entries().fullAt(), 64 * 1024),
        new StoreSettings.Snapshots(snapshotEntries, 64 * 1024, Duration.ofSeconds(ageSeconds)),
        new StoreSettings.Reads(1, 16));
  }
}
