package dunlin.store.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.RangeId;
import dunlin.store.disk.DiskSpace;
import dunlin.store.raft.Trio;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SnapshotDownloadTest {
  private static final UUID NODE = UUID.randomUUID();

  @TempDir Path directory;

  /** A node whose snapshot can break off, differ from what was announced, or disappear. */
  private static final class Source implements SnapshotSource {
    private final Map<String, byte[]> files = new TreeMap<>();
    private UUID id = UUID.randomUUID();
    private long breakAfterBytes = Long.MAX_VALUE;
    private boolean damage;

    @Override
    public Snapshot open(UUID node, RangeId range) {
      return new Snapshot(
          id, files.entrySet().stream().map(file -> new File(file.getKey(), file.getValue().length, crc(file.getValue()))).toList());
    }

    @Override
    public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
      if (!snapshot.equals(id)) throw new IOException("gone");
      breakAfterBytes -= bytes;
      if (breakAfterBytes < 0) throw new IOException("broken off");
      byte[] whole = files.getOrDefault(file, new byte[0]);
      byte[] chunk = Arrays.copyOfRange(whole, (int) offset, (int) offset + bytes);
      if (damage) chunk[chunk.length / 2] ^= 1;
      return chunk;
    }

    private static int crc(byte[] bytes) {
      var crc = new CRC32C();
      crc.update(bytes);
      return (int) crc.getValue();
    }
  }

  private final Source source = new Source();
  private final AtomicLong fetched = new AtomicLong();
  private volatile boolean cancelled;
  private long free = Long.MAX_VALUE / 2;

  private void fetch(ClusterSettings settings) throws IOException {
    var disk =
        new DiskSpace(
            new DiskSpace.Source() {
              @Override
              public long free() {
                return free;
              }

              @Override
              public long total() {
                return Long.MAX_VALUE;
              }
            },
            1,
            0);
    new SnapshotDownload(source, SnapshotDownload.Pace.of(settings), disk::canHold, () -> cancelled, fetched::addAndGet)
        .fetch(NODE, Trio.RANGE, directory.resolve("in"));
  }

  private static ClusterSettings settings(long bytesPerSecond, Duration deadline) {
    return new ClusterSettings(
        1, "a", "a", new PeerSecurity.Plaintext(false), Duration.ofSeconds(2), 1, bytesPerSecond, deadline);
  }

  private void fetch() throws IOException {
    fetch(settings(Long.MAX_VALUE / 2, Duration.ofMinutes(1)));
  }

  private void fill(Random random) {
    source.files.put("CURRENT", "MANIFEST-000001\n".getBytes(StandardCharsets.US_ASCII));
    for (int i = 0; i < 5; i++) {
      byte[] content = new byte[random.nextInt(700_000)];
      random.nextBytes(content);
      source.files.put("00000" + i + ".sst", content);
    }
    source.files.put("empty", new byte[0]);
  }

  private void assertWhole() throws IOException {
    try (var found = Files.list(directory.resolve("in"))) {
      assertThat(found.map(path -> path.getFileName().toString())).containsExactlyInAnyOrderElementsOf(source.files.keySet());
    }
    for (var file : source.files.entrySet())
      assertThat(Files.readAllBytes(directory.resolve("in").resolve(file.getKey()))).isEqualTo(file.getValue());
  }

  static LongStream seeds() {
    return LongStream.range(0, 20);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void resumesAndFetchesNothingTwice(long seed) throws IOException {
    var random = new Random(seed);
    fill(random);
    long all = source.files.values().stream().mapToLong(file -> file.length).sum();
    for (int tries = 0; tries < 100; tries++) {
      source.breakAfterBytes = SnapshotSource.CHUNK_BYTES_MAX + (long) random.nextInt(600_000);
      try {
        fetch();
        break;
      } catch (IOException e) {
        assertThat(e).hasMessage("broken off");
      }
    }
    assertWhole();
    assertThat(fetched).as("seed %d", seed).hasValue(all);
  }

  @Test
  void keepsCompleteFilesOfAnotherSnapshotAndFetchesTheRest() throws IOException {
    fill(new Random(1));
    fetch();
    long all = fetched.getAndSet(0);
    source.id = UUID.randomUUID();
    source.files.remove("000000.sst");
    source.files.put("000009.sst", new byte[1000]);
    byte[] changed = new byte[123_456];
    source.files.put("000003.sst", changed);

    fetch();

    assertWhole();
    assertThat(fetched).hasValue(1000 + changed.length).hasValueLessThan(all);
  }

  @Test
  void aFileWithAWrongChecksumIsNotKept() throws IOException {
    fill(new Random(2));
    source.damage = true;
    assertThatThrownBy(this::fetch).hasMessageContaining("differs from what was announced");
    source.damage = false;
    fetch();
    assertWhole();
  }

  @ParameterizedTest
  @ValueSource(strings = {"../evil", "/etc/passwd", "..", "a/b", "", "ORIGIN", ".hidden", "a\0b"})
  void aNameThatIsAPathIsRefused(String name) {
    fill(new Random(3));
    source.files.put(name, new byte[1]);
    assertThatThrownBy(this::fetch).isInstanceOf(IOException.class).hasMessageContaining("announces the file");
    assertThat(directory.resolve("in")).doesNotExist();
  }

  @Test
  void nothingIsFetchedWithoutRoomOnTheDisk() {
    fill(new Random(4));
    free = 1000;
    assertThatThrownBy(this::fetch).hasMessageContaining("the disk has no room for");
    assertThat(fetched).hasValue(0);
  }

  @Test
  void keepsToItsRateAndEndsAtItsDeadline() {
    source.files.put("CURRENT", new byte[0]);
    source.files.put("large", new byte[2_000_000]);
    assertThatThrownBy(() -> fetch(settings(64 * 1024, Duration.ofSeconds(1)))).hasMessageContaining("has not been downloaded within PT1S");
    assertThat(fetched).as("one chunk may exceed the rate").hasValueLessThanOrEqualTo(2L * SnapshotSource.CHUNK_BYTES_MAX);
  }

  @Test
  void endsWhenTheRangeIsClosed() {
    fill(new Random(5));
    cancelled = true;
    assertThatThrownBy(this::fetch).hasMessageContaining("cancelled: the range is closed");
  }

  @Test
  void aSnapshotWithoutCurrentIsRefused() {
    source.files.put("a.sst", new byte[10]);
    assertThatThrownBy(this::fetch).hasMessageContaining("is not a RocksDB: " + List.of("a.sst"));
  }
}
