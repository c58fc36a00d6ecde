package dunlin.admin.backup;

import dunlin.admin.backup.BackupManifest.RangeRow;
import dunlin.admin.backup.BackupsMXBean.BackupRow;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.backup.CopiedFile;
import dunlin.store.backup.CopiedRange;
import dunlin.store.backup.RangeCopies;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.NodeIdentity;
import dunlin.store.snapshot.SnapshotDownload;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** One backup: it is written under another name, and gets its own when all of it is on disk. */
final class Backup {
  /*
   * Owner: the thread that makes it; any thread asks for its row and cancels it.
   * Bounds: one range at a time, at the pace that it was given, within DEADLINE for each, and none for which the disk has no room.
   * Failure: a range whose leader is lost is copied from the next one, as long as there is progress within PATIENCE. Whatever else goes wrong deletes what was
   * written. After a crash the unfinished directory stays, and a backup of the same name is refused until it is deleted.
   */
  private static final Duration DEADLINE = Duration.ofDays(1);
  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final String UNFINISHED = ".unfinished";

  enum State {
    RUNNING,
    COMPLETE,
    FAILED,
    CANCELLED
  }

  private final String name;
  private final Path directory;
  private final Path unfinished;
  private final Backups.Of node;
  private final BackupSource source;
  private final LongConsumer count;
  private final Instant started;
  private final List<RangeId> ranges;
  private final AtomicInteger done = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();

  private volatile boolean cancelled;
  private volatile State state = State.RUNNING; // single writer of the three: the thread that makes it; the state last
  private volatile String problem = "";
  private volatile @Nullable Instant ended;

  private Backup(String name, Path directory, Path unfinished, Backups.Of node, BackupSource source, LongConsumer count, List<RangeId> ranges) {
    this.name = name;
    this.directory = directory;
    this.unfinished = unfinished;
    this.node = node;
    this.source = source;
    this.count = count;
    this.ranges = ranges;
    started = node.clock().instant();
  }

  /**
   * Looks whether a backup can be made, and creates its directory.
   *
   * @param all the directory of all backups
   * @param count is called with the bytes that are copied
   * @throws IllegalStateException when it cannot
   */
  static Backup begin(String name, Path all, Backups.Of node, BackupSource source, LongConsumer count) {
    List<RangeId> ranges = source.ranges();
    if (ranges.isEmpty()) throw new IllegalStateException("the node is starting, or does not know the ranges of its cluster yet");
    Path directory = all.toAbsolutePath().normalize().resolve(name);
    Path unfinished = directory.resolveSibling("." + name + UNFINISHED);
    if (Files.exists(directory)) throw new IllegalStateException("there is " + directory + " already");
    try {
      DataDirectory.createDirectory(all.toAbsolutePath().normalize());
      DataDirectory.createNewDirectory(unfinished);
    } catch (FileAlreadyExistsException e) {
      throw new IllegalStateException(unfinished + " is being written by another node, or was left behind by a crash; delete it in that case", e);
    } catch (IOException | StoreException e) {
      throw new IllegalStateException("directory " + unfinished + " cannot be created: " + e.getMessage(), e);
    }
    return new Backup(name, directory, unfinished, node, source, count, ranges);
  }

  State state() {
    return state;
  }

  boolean runs() {
    return state == State.RUNNING;
  }

  void cancel() {
    cancelled = true;
  }

  BackupRow row() {
    State now = state; // first: what belongs to it was written before
    Instant end = ended;
    return new BackupRow(
        name, now.name().toLowerCase(Locale.ROOT), now == State.COMPLETE ? directory.toString() : "", started.toString(), end == null ? "" : end.toString(), ranges.size(),
        done.get(), bytes.get(), problem);
  }

  /** Makes it; returns when it has ended, whatever became of it. */
  void make() {
    State became;
    try {
      write();
      became = State.COMPLETE;
    } catch (IOException | RuntimeException e) {
      became = cancelled ? State.CANCELLED : State.FAILED;
      problem = (cancelled ? "" : String.valueOf(e.getMessage())) + cleared();
    }
    ended = node.clock().instant();
    state = became;
  }

  private void write() throws IOException {
    Path copiesIn = unfinished.resolve(StoredBackup.RANGES);
    DataDirectory.createDirectory(copiesIn);
    List<CopiedRange> copied = new ArrayList<>();
    RangeCopies copies =
        new RangeCopies(
            source.snapshots(), new SnapshotDownload.Pace(node.bytesPerSecond(), DEADLINE), this::hasRoom, () -> cancelled,
            length -> {
              bytes.addAndGet(length);
              count.accept(length);
            });
    for (RangeId range : ranges) {
      copied.add(copy(copies, range, copiesIn.resolve(range.uuid().toString())));
      done.incrementAndGet();
    }
    RangeCopies.requireWhole(copied);
    DataDirectory.force(copiesIn);
    List<CopiedFile> files = copyFiles(unfinished.resolve(StoredBackup.NODE));
    new BackupManifest(
            BackupManifest.FORMAT, NodeIdentity.format(), node.version(), started.toString(), source.cluster().map(UUID::toString).orElse(null), node.id(),
            copied.stream().map(RangeRow::of).toList(), files)
        .write(unfinished);
    if (cancelled) throw new IOException("cancelled");
    DataDirectory.force(unfinished);
    Files.move(unfinished, directory, StandardCopyOption.ATOMIC_MOVE);
    DataDirectory.force(directory.resolveSibling("."));
  }

  private boolean hasRoom(long more) {
    return RangeCopies.fits(unfinished, more, node.diskFreeMin());
  }

  /** Copies a range from the node that leads it, whichever that is in the end. */
  private CopiedRange copy(RangeCopies copies, RangeId range, Path into) throws IOException {
    long before = bytes.get();
    long progressed = System.nanoTime();
    while (true) {
      IOException why = new IOException("range '" + range + "' has no leader that this node knows");
      Optional<UUID> leader = source.leader(range);
      if (leader.isPresent()) {
        try {
          return copies.copy(leader.get(), range, into);
        } catch (IOException lost) {
          why = lost;
        }
      }
      if (bytes.get() > before) progressed = System.nanoTime();
      before = bytes.get();
      if (cancelled || System.nanoTime() - progressed > PATIENCE_NANOS) throw why;
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  private List<CopiedFile> copyFiles(Path into) throws IOException {
    DataDirectory.createDirectory(into);
    for (String each : node.files()) {
      Path file = node.dataDirectory().resolve(each);
      if (!Files.exists(file)) continue;
      Path copy = into.resolve(each);
      Files.copy(file, copy);
      try (FileChannel channel = FileChannel.open(copy, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
    }
    DataDirectory.force(into);
    return CopiedFile.allIn(into);
  }

  /** Deletes what was written; answers what is wrong when that is impossible. */
  private String cleared() {
    try {
      RangeCopies.delete(unfinished);
      return "";
    } catch (IOException e) {
      return " What was written cannot be deleted: " + e.getMessage();
    }
  }
}
