package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.DurableFile;
import dunlin.store.disk.NodeIdentity;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts with damaged files: no acknowledged command may be lost silently. */
class RangeStoreDamageTest {
  static final int SEGMENT_HEADER = "RaftLog1".length();

  @TempDir Path directory;

  @BeforeEach
  void aNodeWithRowsHasStopped() {
    var d = StoreSettings.defaults();
    var small =
        new StoreSettings(
            true,
            ClusterSettings.NONE,
            d.memoryBytes(),
            new StoreSettings.Disk(0, 0),
            new StoreSettings.Queue(1024, d.queue().bytesMax()),
            new StoreSettings.Entries(8, 1, d.entries().fullAt(), 64 * 1024),
            d.snapshots(),
            new StoreSettings.Reads(1, 1));
    try (var one = OneRange.start(directory, small)) {
      for (int i = 0; i < 50; i++) one.apply(new Put("key" + i, "value" + i));
    }
  }

  @Test
  void aFlippedByteInTheLog() throws IOException {
    Path segment = only(log(), "log_inprogress_*");
    flip(segment, Files.size(segment) / 2);
    refused("range 'routes': its log in " + group() + " cannot be loaded: ");
  }

  @Test
  void aLastFileOfTheLogThatWasCutShort() throws IOException {
    Path segment = only(log(), "log_inprogress_*");
    Files.move(segment, log().resolve("log_0-1000"));
    refused("range 'routes': its log in " + group() + " lacks entries: its last file was cut short");
  }

  @Test
  void anOpenFileOfTheLogThatWasCutShort() throws IOException {
    Path segment = only(log(), "log_inprogress_*");
    byte[] all = Files.readAllBytes(segment);
    int[] entries = entries(all);
    for (int end : new int[] {entries[10], entries[10] + 3, entries[0], 0}) {
      Files.write(segment, Arrays.copyOf(all, end));
      refused(
          "range 'routes': its log in %s lacks entries: it ends with entry %d, and its rows have entry %d".formatted(group(), end > entries[0] ? 9 : -1, entries.length - 1));
    }
    Files.write(segment, all);
    try (var one = OneRange.start(directory)) {
      assertThat(one.rows()).hasSize(50);
    }
  }

  /** The process has ended after a snapshot was installed, and before Ratis had deleted the log. */
  @Test
  void aLogThatAnInstalledSnapshotHasPassedIsNoDamage() throws IOException {
    Path segment = only(log(), "log_inprogress_*");
    byte[] all = Files.readAllBytes(segment);
    int[] entries = entries(all);
    Files.write(segment, Arrays.copyOf(all, entries[10]));
    var installed = new DurableFile(rows().resolveSibling(rows().getFileName() + ".installed"));
    installed.write(ByteBuffer.allocate(Long.BYTES).putLong(entries.length - 2).array());
    refused("lacks entries"); // that was another snapshot
    installed.write(ByteBuffer.allocate(Long.BYTES).putLong(entries.length - 1).array());

    for (int i = 0; i < 2; i++)
      try (var one = OneRange.start(directory)) {
        assertThat(one.rows()).hasSize(50 + i);
        one.apply(new Put("later" + i, ""));
      }
  }

  @Test
  void aFileOfTheLogThatWasCutShort() throws IOException {
    withoutTenEntries("log_0-19");
    refused("range 'routes': its log in " + group() + " cannot be loaded: Found a gap between logs");
  }

  @Test
  void aMissingFileInTheMiddleOfTheLog() throws IOException {
    withoutTenEntries("log_0-9");
    refused("range 'routes': its log in " + group() + " cannot be loaded: Found a gap between logs");
  }

  /** Divides the log into a file with the entries 0 to 9, and one that begins with entry 20. */
  private void withoutTenEntries(String first) throws IOException {
    Path segment = only(log(), "log_inprogress_*");
    byte[] all = Files.readAllBytes(segment);
    Files.delete(segment);
    int[] entries = entries(all);
    Files.write(log().resolve(first), Arrays.copyOf(all, entries[10]));
    byte[] rest = Arrays.copyOfRange(all, entries[20] - entries[0], all.length);
    System.arraycopy(all, 0, rest, 0, entries[0]);
    Files.write(log().resolve("log_inprogress_20"), rest);
  }

  /** Where each entry of a segment begins: behind the header, each is its length, its bytes and a checksum of 4 bytes. */
  private static int[] entries(byte[] segment) {
    var begins = new ArrayList<Integer>();
    var bytes = ByteBuffer.wrap(segment).position(SEGMENT_HEADER);
    while (bytes.hasRemaining() && bytes.get(bytes.position()) != 0) {
      begins.add(bytes.position());
      int length = 0;
      for (int shift = 0, next = -1; next < 0; shift += 7) {
        next = bytes.get();
        length |= (next & 0x7f) << shift;
      }
      bytes.position(bytes.position() + length + 4);
    }
    return begins.stream().mapToInt(Integer::intValue).toArray();
  }

  @Test
  void aMissingLog() throws IOException {
    delete(group());
    refused("range 'routes': it has rows in " + rows() + " but its log in " + group() + " is gone");
    assertThat(group()).as("nothing was created again").doesNotExist();
  }

  @Test
  void missingLogAndRows() throws IOException {
    delete(group());
    delete(rows());
    refused("range 'routes': it had a replica here, and both its log in " + group() + " and its rows in " + rows() + " are gone");
    assertThat(group()).as("nothing was created again").doesNotExist();
  }

  /** A crash in the very first start leaves this, or a version without notes. */
  @Test
  void aReplicaWithoutANoteGetsOneBeforeItVotesAgain() throws IOException {
    Path note = directory.resolve("replicas").resolve(group().getFileName());
    Files.delete(note);
    try (var one = OneRange.start(directory)) {
      assertThat(note).hasBinaryContent(new byte[] {1, 0});
      assertThat(one.rows()).hasSize(50);
    }
    delete(group());
    delete(rows());
    refused("range 'routes': it had a replica here");
  }

  @Test
  void aLogWithoutItsMetadata() throws IOException {
    Files.delete(log().resolve("raft-meta"));
    refused("range 'routes': its log in " + group() + " cannot be loaded: ");
  }

  @Test
  void rowsWithoutCurrent() throws IOException {
    Files.delete(rows().resolve("CURRENT"));
    refused("range 'routes': its rows in " + rows() + " cannot be opened: its CURRENT file is missing");
  }

  @Test
  void rowsWithAnEmptyCurrent() throws IOException {
    Files.write(rows().resolve("CURRENT"), new byte[0]);
    refused("range 'routes': its rows in " + rows() + " cannot be opened: ");
  }

  @Test
  void rowsWithADamagedManifest() throws IOException {
    flip(only(rows(), "MANIFEST-*"), 20);
    refused("range 'routes': its rows in " + rows() + " cannot be opened: ");
  }

  @Test
  void rowsWithoutManifest() throws IOException {
    Files.delete(only(rows(), "MANIFEST-*"));
    refused("range 'routes': its rows in " + rows() + " cannot be opened: ");
  }

  @Test
  void aTruncatedTable() throws IOException {
    Path table = only(rows(), "*.sst");
    try (var file = new RandomAccessFile(table.toFile(), "rw")) {
      file.setLength(file.length() / 2);
    }
    refused("range 'routes': its rows in " + rows() + " cannot be opened: ");
  }

  @Test
  void aFlippedByteInATable() throws IOException {
    flip(only(rows(), "*.sst"), 30);
    refused("range 'routes': its rows in " + rows() + " cannot be ");
  }

  @Test
  void rowsThatEndBeforeTheLogBegins() throws IOException {
    // A second run begins a new segment, and its clean end truncates the first one.
    try (var one = OneRange.start(directory)) {
      one.apply(new Put("in the next segment", ""));
    }
    assertThat(group().resolve("current").toFile().list()).noneMatch(name -> name.matches("log_(inprogress_)?0.*"));
    delete(rows());
    refused("range 'routes': its rows in " + rows() + " end at entry -1 and its log begins at entry ");
  }

  @Test
  void lostRowsComeBackWhenTheLogIsWhole() throws IOException {
    delete(rows());
    try (var one = OneRange.start(directory)) {
      assertThat(one.logic.applied).isEqualTo(50);
      assertThat(one.rows()).hasSize(50);
    }
  }

  @Test
  void aRangeThatIsNotDeclared() throws IOException {
    Path stranger = Files.createDirectory(group().resolveSibling("01234567-89ab-8def-8123-456789abcdef"));
    refused("holds ranges that this version does not know: [" + stranger.getFileName() + "]");
  }

  @Test
  void leftoversOfANewGroupAreDeletedAfterACrash() throws IOException {
    Files.createDirectories(group().resolveSibling(group().getFileName() + ".new").resolve("current"));
    OneRange.start(directory).close();
  }

  /** The start must fail with a clear message and without hanging, leave no thread and an unlocked directory, and change no rows. */
  private void refused(String message) throws IOException {
    byte[] identity = Files.readAllBytes(directory.resolve("dunlin.node"));
    assertThatThrownBy(() -> OneRange.start(directory))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(message);

    var nodeId = NodeIdentity.read(directory).nodeId().toString();
    await()
        .atMost(OneRange.DEADLINE)
        .untilAsserted(
            () ->
                assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread -> thread.getName().contains(nodeId) || thread.getName().contains(nodeId.substring(0, 8)))
                    .allMatch(Thread::isDaemon));
    assertThatThrownBy(() -> OneRange.start(directory)).as("again").hasMessageContaining(message);
    assertThat(Files.readAllBytes(directory.resolve("dunlin.node"))).hasSameSizeAs(identity);
  }

  private Path group() {
    return directory.resolve("raft").resolve(RangeId.firstOf("routes").uuid().toString());
  }

  private Path log() {
    return group().resolve("current");
  }

  private Path rows() {
    return directory.resolve("ranges").resolve(RangeId.firstOf("routes").uuid().toString());
  }

  private static Path only(Path directory, String glob) throws IOException {
    try (var found = Files.newDirectoryStream(directory, glob)) {
      var paths = new ArrayList<Path>();
      found.forEach(paths::add);
      paths.sort(Comparator.comparing(Path::toString));
      assertThat(paths).as("%s in %s", glob, directory).isNotEmpty();
      return paths.getLast();
    }
  }

  private static void flip(Path file, long at) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[(int) at] ^= 0x40;
    Files.write(file, bytes);
  }

  private static void delete(Path tree) throws IOException {
    try (var found = Files.walk(tree)) {
      for (Path path : found.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
    }
  }
}
