package dunlin.store.snapshot;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.RocksRange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The snapshots of this node's ranges that other nodes download. They are hard links, so they only cost the space of
 * files that RocksDB deletes while they exist.
 */
public final class OpenSnapshots {
  /*
   * Owner: any thread that may block; one opens at a time, reads run in parallel.
   * Bounds: OPEN_MAX on the node, each until IDLE_NANOS after its last read; a recent one is shared by all callers.
   * Full: the least recently read one is deleted, unless all are in use; then the caller is refused and retries.
   * Failure: what a crashed process leaves is deleted when the next one opens the directory.
   */
  private static final Logger log = LoggerFactory.getLogger(OpenSnapshots.class);

  /** More than a cluster of brokers has ranges: one node may lead all of them, and a new node asks for all at once. */
  private static final int OPEN_MAX = 8;

  private static final long IN_USE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(2);
  /** How long one may be reused: the older it is, the more of the log must be sent after it. */
  private static final long REUSE_NANOS = TimeUnit.MINUTES.toNanos(10);

  private static final class Open {
    private final UUID range;
    private final Path directory;
    private final long madeNanos;
    private final LogPosition position;
    private final SnapshotSource.Snapshot content;

    private volatile long usedNanos;

    Open(UUID range, Path directory, long madeNanos, LogPosition position, SnapshotSource.Snapshot content) {
      this.range = range;
      this.directory = directory;
      this.madeNanos = madeNanos;
      usedNanos = madeNanos;
      this.position = position;
      this.content = content;
    }
  }

  private final Path directory;
  private final LongSupplier nanos;

  @GuardedBy("open")
  private final Map<UUID, Open> open = new HashMap<>();

  public OpenSnapshots(Path directory, LongSupplier nanos) {
    this.directory = directory;
    this.nanos = nanos;
  }

  /**
   * Opens a snapshot that another replica can continue from, a recent one if there is any.
   *
   * @param logBegin first entry that the range's log still has: a snapshot that ends before it is useless
   */
  public synchronized SnapshotSource.Snapshot open(RangeId range, RocksRange rows, long logBegin) throws IOException {
    expire();
    long now = nanos.getAsLong();
    synchronized (open) {
      for (var one : open.values())
        if (one.range.equals(range.uuid()) && one.position.index() + 1 >= logBegin && now - one.madeNanos < REUSE_NANOS) {
          one.usedNanos = now;
          return one.content;
        }
    }
    return make(range, rows);
  }

  /** Opens a snapshot of the rows as they are now. */
  public synchronized SnapshotSource.Snapshot openCurrent(RangeId range, RocksRange rows) throws IOException {
    expire();
    return make(range, rows);
  }

  private SnapshotSource.Snapshot make(RangeId range, RocksRange rows) throws IOException {
    makeRoom(nanos.getAsLong());
    var id = UUID.randomUUID();
    Path made = directory.resolve(id.toString());
    DataDirectory.createDirectory(directory);
    try {
      rows.snapshot(made);
      var one = new Open(range.uuid(), made, nanos.getAsLong(), RocksRange.positionIn(made), content(id, made));
      synchronized (open) {
        open.put(id, one);
      }
      log.info("Range {}: opened snapshot {} at entry {} for another node", range, id, one.position.index());
      return one.content;
    } catch (IOException | RuntimeException e) {
      GroupStorage.deleteTree(made);
      throw e;
    }
  }

  public byte[] read(UUID snapshot, String name, long offset, int bytes) throws IOException {
    Open one;
    synchronized (open) {
      one = open.get(snapshot);
    }
    if (one == null) throw new StoreException("snapshot " + snapshot + " does not exist any more");
    var file = one.content.files().stream().filter(each -> each.name().equals(name)).findFirst();
    if (file.isEmpty() || bytes < 1 || bytes > SnapshotSource.CHUNK_BYTES_MAX || offset < 0 || offset > file.get().bytes() - bytes)
      throw new StoreException("snapshot " + snapshot + " has no " + bytes + " bytes at " + offset + " of '" + name + "'");
    one.usedNanos = nanos.getAsLong();
    var out = ByteBuffer.allocate(bytes);
    try (var in = FileChannel.open(one.directory.resolve(name))) {
      while (out.hasRemaining())
        if (in.read(out, offset + out.position()) < 0) throw new IOException(name + " of snapshot " + snapshot + " has shrunk");
    }
    return out.array();
  }

  /** Whether a node has read from a snapshot of this range in the last seconds. */
  public boolean inUse(RangeId range) {
    long now = nanos.getAsLong();
    synchronized (open) {
      return open.values().stream().anyMatch(one -> one.range.equals(range.uuid()) && now - one.usedNanos < IN_USE_NANOS);
    }
  }

  /** Deletes snapshots that no node has read for a while. */
  public void expire() {
    long now = nanos.getAsLong();
    var gone = new ArrayList<Open>();
    synchronized (open) {
      open.values().removeIf(one -> now - one.usedNanos > IDLE_NANOS && gone.add(one));
    }
    gone.forEach(OpenSnapshots::delete);
  }

  /** Makes room for another: a range whose log is truncated often needs a new one before the old ones have expired. */
  private void makeRoom(long now) {
    Open oldest;
    synchronized (open) {
      if (open.size() < OPEN_MAX) return;
      oldest = Collections.max(open.values(), Comparator.comparingLong(one -> now - one.usedNanos));
      if (now - oldest.usedNanos < IN_USE_NANOS)
        throw new StoreException(OPEN_MAX + " snapshots are in use already; try again later");
      open.values().remove(oldest);
    }
    delete(oldest);
  }

  private static void delete(Open gone) {
    try {
      GroupStorage.deleteTree(gone.directory);
    } catch (IOException e) {
      log.warn("Snapshot {} cannot be deleted; the next start tries again", gone.directory, e);
    }
  }

  private static SnapshotSource.Snapshot content(UUID id, Path made) throws IOException {
    var files = new ArrayList<SnapshotSource.File>();
    try (var found = Files.newDirectoryStream(made)) {
      for (Path path : found)
        files.add(
            new SnapshotSource.File(
                requireNonNull(path.getFileName()).toString(), Files.size(path), SnapshotDownload.checksum(path)));
    }
    return new SnapshotSource.Snapshot(id, files);
  }
}
