package dunlin.store.snapshot;

import dunlin.store.RangeId;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.GroupStorage;
import dunlin.store.settings.ClusterSettings;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;
import java.util.zip.CRC32C;

/** Downloads a snapshot of a range into a directory, except files that are there already. */
public final class SnapshotDownload {
  /*
   * Owner: one thread, which may block.
   * Bounds: one chunk in memory; the rate and the deadline; no more bytes than the disk can spare.
   * Failure: any failure leaves the downloaded files. Complete ones are recognized by size and checksum and never
   * fetched twice; a partial one is resumed if it is of the same snapshot.
   */
  private static final String ORIGIN = "ORIGIN";

  /**
   * How fast a download may be.
   *
   * @param bytesPerSecond at most, on average since it began
   * @param deadline time that it may take
   */
  public record Pace(long bytesPerSecond, Duration deadline) {
    public static Pace of(ClusterSettings settings) {
      return new Pace(settings.installBytesPerSecond(), settings.installDeadline());
    }
  }

  private final SnapshotSource source;
  private final Pace pace;
  private final LongPredicate room;
  private final BooleanSupplier cancelled;
  private final LongConsumer fetched;
  private final long begunNanos = System.nanoTime();

  private long bytes;

  /** @param room whether the disk has room for so many bytes more */
  public SnapshotDownload(
      SnapshotSource source, Pace pace, LongPredicate room, BooleanSupplier cancelled, LongConsumer fetched) {
    this.source = source;
    this.pace = pace;
    this.room = room;
    this.cancelled = cancelled;
    this.fetched = fetched;
  }

  public void fetch(UUID node, RangeId range, Path into) throws IOException {
    var snapshot = source.open(node, range);
    requireSane(snapshot);
    DataDirectory.createDirectory(into);
    boolean same = origin(into).equals(snapshot.id().toString());
    deleteOthers(into, snapshot);
    long missing = 0;
    for (var file : snapshot.files()) if (!whole(into.resolve(file.name()), file)) missing += file.bytes();
    if (!room.test(missing))
      throw new IOException("the disk has no room for a snapshot of range '" + range + "' of " + missing + " more bytes");
    Files.writeString(into.resolve(ORIGIN), snapshot.id().toString());
    for (var file : snapshot.files()) fetch(node, snapshot.id(), file, into.resolve(file.name()), same);
    Files.delete(into.resolve(ORIGIN));
    DataDirectory.force(into);
  }

  private void fetch(UUID node, UUID snapshot, SnapshotSource.File file, Path to, boolean same) throws IOException {
    if (whole(to, file)) return;
    if (!same || (Files.exists(to) && Files.size(to) >= file.bytes())) Files.deleteIfExists(to);
    if (!Files.exists(to)) DataDirectory.createFile(to);
    try (var out = FileChannel.open(to, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
      for (long at = out.size(); at < file.bytes(); ) {
        requireTime(snapshot);
        int length = (int) Math.min(SnapshotSource.CHUNK_BYTES_MAX, file.bytes() - at);
        byte[] chunk = source.read(node, snapshot, file.name(), at, length);
        if (chunk.length != length)
          throw new IOException(chunk.length + " bytes came of " + length + " of " + file.name());
        for (var in = ByteBuffer.wrap(chunk); in.hasRemaining(); ) out.write(in);
        at += length;
        bytes += length;
        fetched.accept(length);
      }
      out.force(true);
    }
    if (!whole(to, file)) {
      Files.delete(to);
      throw new IOException(file.name() + " of snapshot " + snapshot + " differs from what was announced");
    }
  }

  /** Keeps to the rate, and throws at the deadline or when the download is cancelled. */
  private void requireTime(UUID snapshot) throws IOException {
    long due = begunNanos + (long) (bytes * 1e9 / pace.bytesPerSecond());
    for (long left; (left = due - System.nanoTime()) > 0 && !cancelled.getAsBoolean(); ) {
      LockSupport.parkNanos(Math.min(left, 100_000_000));
      if (Thread.currentThread().isInterrupted()) throw new InterruptedIOException("cancelled while downloading snapshot " + snapshot + "");
    }
    if (cancelled.getAsBoolean()) throw new IOException("cancelled: the range is closed");
    if (System.nanoTime() - begunNanos > pace.deadline().toNanos())
      throw new IOException("snapshot " + snapshot + " has not been downloaded within " + pace.deadline());
  }

  /** Checks the names of files: names from another node become paths on this one. */
  private static void requireSane(SnapshotSource.Snapshot snapshot) throws IOException {
    var names = new HashSet<String>();
    for (var file : snapshot.files())
      if (!file.name().matches("[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}")
          || file.name().equals(ORIGIN)
          || !names.add(file.name())
          || file.bytes() < 0) throw new IOException("snapshot " + snapshot.id() + " announces the file " + file);
    if (!names.contains("CURRENT")) throw new IOException("snapshot " + snapshot.id() + " is not a RocksDB: " + names);
  }

  private static String origin(Path into) throws IOException {
    Path origin = into.resolve(ORIGIN);
    return Files.exists(origin) ? Files.readString(origin) : "";
  }

  private static void deleteOthers(Path into, SnapshotSource.Snapshot snapshot) throws IOException {
    var wanted = new HashSet<String>();
    snapshot.files().forEach(file -> wanted.add(file.name()));
    try (var found = Files.newDirectoryStream(into)) {
      for (Path path : found) if (!wanted.contains(String.valueOf(path.getFileName()))) GroupStorage.deleteTree(path);
    }
  }

  private static boolean whole(Path path, SnapshotSource.File file) throws IOException {
    return Files.exists(path) && Files.size(path) == file.bytes() && checksum(path) == file.checksum();
  }

  static int checksum(Path file) throws IOException {
    var crc = new CRC32C();
    var buffer = ByteBuffer.allocate(SnapshotSource.CHUNK_BYTES_MAX);
    try (var in = FileChannel.open(file)) {
      while (in.read(buffer.clear()) >= 0) crc.update(buffer.flip());
    }
    return (int) crc.getValue();
  }
}
