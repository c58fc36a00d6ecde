package dunlin.store.backup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.KeyInterval;
import dunlin.store.NotLeaderException;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.GroupStorage;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.OneRange;
import dunlin.store.raft.Trio;
import dunlin.store.snapshot.SnapshotDownload.Pace;
import dunlin.store.snapshot.SnapshotSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies of a range that three nodes have, and the data directory of another node that is made of them. */
class RangeCopiesTest {
  private static final Pace FAST = new Pace(Long.MAX_VALUE / 2, Duration.ofMinutes(2));
  private static final Map<String, byte[]> FILES = Map.of("clock", "1 2 3".getBytes(StandardCharsets.US_ASCII));

  @TempDir private static Path common;
  @TempDir private Path directory;

  /** What all tests copy from, and one copy of it. */
  private record Shared(Trio trio, Map<String, String> rows, CopiedRange copied) {}

  private static final AtomicReference<Trio> TRIO = new AtomicReference<>();
  private static final AtomicReference<Shared> SHARED = new AtomicReference<>();

  private final Shared shared = SHARED.get();

  private static final class Leading implements SnapshotSource {
    @Override
    public Snapshot open(UUID node, RangeId range) throws IOException {
      try {
        return at(node).store().openCurrentSnapshot(range);
      } catch (StoreException refused) {
        throw new IOException(refused);
      }
    }

    @Override
    public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) {
      return at(node).store().readSnapshot(snapshot, file, offset, bytes);
    }

    private static Trio.Node at(UUID id) {
      return TRIO.get().nodes.stream().filter(node -> node.id().equals(id)).findFirst().orElseThrow();
    }
  }

  /** A copy by whichever node leads. */
  private static CopiedRange copied(Path into, AtomicLong bytes) {
    var copies = new RangeCopies(new Leading(), FAST, _ -> true, () -> false, bytes::addAndGet);
    return await()
        .atMost(Trio.DEADLINE)
        .ignoreExceptionsInstanceOf(IOException.class)
        .until(() -> copies.copy(TRIO.get().leader().id(), Trio.RANGE, into), _ -> true);
  }

  @BeforeAll
  static void copy() {
    var trio = Trio.start(common.resolve("trio"));
    TRIO.set(trio);
    Map<String, String> rows = new TreeMap<>();
    for (int i = 0; i < 200; i++) {
      String key = "row-" + i % 7;
      trio.apply(new Append(key, i + " "));
      rows.merge(key, i + " ", String::concat);
    }
    SHARED.set(new Shared(trio, rows, copied(ranges(common.resolve("backup")), new AtomicLong())));
  }

  @AfterAll
  static void stop() {
    TRIO.get().close();
  }

  private static Path ranges(Path backup) {
    return backup.resolve(Trio.RANGE.uuid().toString());
  }

  /** A copy of the backup, to be damaged. */
  private Path backup() throws IOException {
    Path backup = directory.resolve("backup");
    OneRange.copy(common.resolve("backup"), backup);
    return backup;
  }

  private UUID restore(Path backup) throws IOException {
    return new RestoredRanges(backup).restore(List.of(shared.copied()), FILES, directory.resolve("data"));
  }

  @Test
  void aCopyBecomesTheDataOfAnotherNode() throws IOException {
    assertThat(shared.copied().rows()).isEqualTo(7);
    assertThat(shared.copied().keys()).as("it is not placed").isEmpty();
    assertThat(shared.copied().bytes()).isPositive();

    UUID node = restore(backup());

    assertThat(shared.trio().nodes).extracting(Trio.Node::id).doesNotContain(node);
    assertThat(directory.resolve("data").resolve("clock")).hasContent("1 2 3");
    for (int start = 0; start < 2; start++) {
      try (var one = OneRange.start(directory.resolve("data"))) {
        assertThat(one.range.status().leader()).contains(node);
        for (var row : shared.rows().entrySet()) assertThat(one.value(row.getKey())).isEqualTo(row.getValue() + "more".repeat(start));
        for (String key : shared.rows().keySet()) one.apply(new Append(key, "more"));
      }
    }
  }

  @Test
  void aCopyHasWhatWasAcknowledgedBefore() {
    var before = copied(directory.resolve("before"), new AtomicLong()).rows();
    for (int i = 0; i < 5; i++) {
      shared.trio().apply(new Append("late-" + i, "x"));
      var bytes = new AtomicLong();
      var copied = copied(directory.resolve("copy-" + i), bytes);
      assertThat(copied.rows()).isEqualTo(before + i + 1);
      assertThat(bytes.get()).isGreaterThanOrEqualTo(copied.bytes());
    }
  }

  @Test
  void aFollowerMakesNoCopy() {
    await()
        .atMost(Trio.DEADLINE)
        .untilAsserted(
            () -> {
              var follower = shared.trio().followers().getFirst();
              assertThatThrownBy(() -> follower.store().openCurrentSnapshot(Trio.RANGE)).isInstanceOf(NotLeaderException.class);
            });
  }

  @Test
  void aCopyThatTheDiskHasNoRoomForIsRefused() {
    LongPredicate none = bytes -> bytes == 0;
    var copies = new RangeCopies(new Leading(), FAST, none, () -> false, _ -> {});
    await()
        .atMost(Trio.DEADLINE)
        .untilAsserted(
            () ->
                assertThatThrownBy(() -> copies.copy(shared.trio().leader().id(), Trio.RANGE, directory.resolve("copy")))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("has no room"));
  }

  @Test
  void whatMustStayFreeOnTheDiskIsKept() {
    long free = directory.toFile().getUsableSpace();
    assertThat(RangeCopies.fits(directory, 1, 1)).isTrue();
    assertThat(RangeCopies.fits(directory, 1, 2 * free)).isFalse();
    assertThat(RangeCopies.fits(directory, 2 * free, 0)).isFalse();
    assertThat(RangeCopies.fits(directory, free, 0)).as("a part is kept when nothing is configured").isFalse();
  }

  private interface Damage {
    void to(Path file) throws IOException;
  }

  private void refused(Damage damage, String sentence) throws IOException {
    for (var file : shared.copied().files()) {
      Path backup = backup();
      damage.to(ranges(backup).resolve(file.name()));

      for (boolean check : new boolean[] {true, false}) {
        assertThatThrownBy(
                () -> {
                  if (check) new RestoredRanges(backup).check(List.of(shared.copied()));
                  else restore(backup);
                })
            .isInstanceOf(StoreException.class)
            .hasMessageContaining(file.name())
            .hasMessageContaining(sentence);
        assertThat(directory.resolve("data")).doesNotExist();
      }
      GroupStorage.deleteTree(backup);
    }
  }

  @Test
  void aDamagedFileIsNamed() throws IOException {
    refused(
        file -> {
          byte[] bytes = Files.readAllBytes(file);
          if (bytes.length == 0) bytes = new byte[1];
          else bytes[bytes.length / 2] ^= 1;
          Files.write(file, bytes);
        },
        "of the backup");
  }

  @Test
  void aMissingFileIsNamed() throws IOException {
    refused(Files::delete, "is missing");
  }

  @Test
  void aFileOfAnotherLengthIsNamed() throws IOException {
    refused(
        file -> {
          byte[] bytes = Files.readAllBytes(file);
          Files.write(file, Arrays.copyOf(bytes, bytes.length + 1));
        },
        "bytes instead of");
  }

  @Test
  void aDirectoryThatHoldsSomethingIsRefusedAndNotTouched() throws IOException {
    Path other = Files.createDirectories(directory.resolve("data")).resolve("other");
    Files.writeString(other, "mine");

    assertThatThrownBy(() -> restore(backup())).isInstanceOf(StoreException.class).hasMessageContaining("is not empty: it holds 'other'");
    Files.delete(other);
    assertThat(restore(directory.resolve("backup"))).isNotNull();
    assertThatThrownBy(() -> restore(directory.resolve("backup"))).isInstanceOf(StoreException.class).hasMessageContaining("is not empty");
  }

  @Test
  void rowsOfAnotherNumberAreRefused() throws IOException {
    var all = shared.copied();
    var wrong = new CopiedRange(all.range(), null, 0, all.term(), all.index(), all.rows() + 1, all.files());
    Path backup = backup();
    assertThatThrownBy(() -> new RestoredRanges(backup).restore(List.of(wrong), Map.of(), directory.resolve("data"))).hasMessageContaining("has 7 rows instead of 8");
    assertThat(directory.resolve("data")).doesNotExist();
  }

  @Test
  void namesThatAreNoNamesAreRefused() {
    for (String name : List.of("", "../x", "a/b", ".", "..", "/etc", ".hidden", "a\0"))
      assertThatThrownBy(() -> new CopiedFile(name, 0, "")).as(name).isInstanceOf(IllegalArgumentException.class);
  }

  /** Says that a copy with the rows of the real one is in a backup. */
  private CopiedRange copy(Path backup, RangeId range, KeyInterval keys) throws IOException {
    OneRange.copy(common.resolve("backup").resolve(Trio.RANGE.uuid().toString()), backup.resolve(range.uuid().toString()));
    var all = shared.copied();
    return new CopiedRange(range, keys, 1, all.term(), all.index(), all.rows(), all.files());
  }

  @Test
  void rangesThatAClusterBeginsWithStayAndThoseOfASplitComeTogether() throws IOException {
    var all = KeyInterval.all();
    byte[] m = {'m'};
    byte[] x = {'x'};
    RangeId second = RangeId.numbered(Trio.RANGE.kind(), 1);
    Path two = directory.resolve("two");
    var upper = copy(two, second, all.from(m));
    var lower = copy(two, Trio.RANGE, all.below(m));
    new RestoredRanges(two).restore(List.of(upper, lower), FILES, directory.resolve("data"));
    for (var range : List.of(Trio.RANGE, second)) assertThat(directory.resolve("data").resolve("ranges").resolve(range.uuid().toString())).isDirectory();

    Path three = directory.resolve("three");
    RangeId child = new RangeId(Trio.RANGE.kind(), new UUID(Trio.RANGE.uuid().getMostSignificantBits() ^ 1, Trio.RANGE.uuid().getLeastSignificantBits()));
    var parts = List.of(copy(three, child, all.from(x)), copy(three, Trio.RANGE, all.below(m)), copy(three, second, all.from(m).below(x)));
    assertThatThrownBy(() -> new RestoredRanges(three).restore(parts, FILES, directory.resolve("other")))
        .as("both have the same rows here")
        .hasMessageContaining("range '%s' has 7 rows instead of 14".formatted(second));
    var strayed = List.of(copy(directory.resolve("stray"), child, all));
    assertThatThrownBy(() -> new RestoredRanges(directory.resolve("stray")).restore(strayed, FILES, directory.resolve("other"))).hasMessageContaining("was split from one that is not there");
  }

  private static CopiedRange placed(KeyInterval keys) {
    return new CopiedRange(Trio.RANGE, keys, 1, 1, 1, 0, List.of());
  }

  @Test
  void rangesThatDoNotHaveEveryKeyOnceAreRefused() {
    var all = KeyInterval.all();
    byte[] m = {'m'};
    byte[] x = {'x'};
    RangeCopies.requireWhole(List.of(placed(all)));
    RangeCopies.requireWhole(List.of(placed(all.from(m)), placed(all.below(m))));
    RangeCopies.requireWhole(List.of(shared.copied()));

    for (var ranges :
        List.of(
            List.of(placed(all.below(m))), List.of(placed(all.from(m))), List.of(placed(all.below(m)), placed(all.from(x))), List.of(placed(all), placed(all.from(m))),
            List.of(placed(all.below(x)), placed(all.from(m))))) {
      assertThatThrownBy(() -> RangeCopies.requireWhole(ranges)).isInstanceOf(StoreException.class).hasMessageContaining("do not have every key once");
    }
  }
}
