package dunlin.store.snapshot;

import dunlin.store.DamagedException;
import dunlin.store.RangeId;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.RocksRange;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.settings.StoreSettings;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.ratis.server.raftlog.RaftLog;

/** Decides when one range's rows are flushed and where its log is truncated: by entries, bytes, age and the terms of its entries. */
public final class LogTruncation {
  /*
   * Owner: the maintenance thread; fit() by the thread that opens the rows, before; bytes() by any thread.
   * Bounds: the log keeps entriesKept, one segment more, and at most SEGMENTS_KEPT that are not dropped because of
   * where they end.
   *
   * The log is truncated by whole segments, and a segment ends at its maximum size or at the end of a leader's term.
   * The end of a term is also where a leader's rows end that transferred the leadership and stopped: the log of the
   * others must not begin right behind it. Ratis 3.3.0 cannot append to a follower that ends exactly there, because the
   * previous entry is gone, and tells it for ever to install a snapshot that it already has (RATIS-2500).
   */
  private static final Pattern CLOSED_SEGMENT = Pattern.compile("log_\\d+-(\\d+)");
  private static final int SEGMENTS_KEPT = 8;
  /** The age at which to flush while the disk is low: only deletions in files can be compacted, and the log can then be truncated. */
  private static final long LOW_DISK_AGE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final StoreSettings settings;
  private final Path log;

  private boolean looked;
  private long flushedNanos; // initially the time of the first look
  private long flushedBytes;
  private volatile long bytes; // single writer: the maintenance thread

  public LogTruncation(StoreSettings settings, Path log) {
    this.settings = settings;
    this.log = log;
  }

  /**
   * Makes the log fit the rows before Ratis reads it. To a log that ends before the rows Ratis 3.3.0 cannot append, and tries it for ever.
   *
   * <p>Nothing is needed of a log that ends before a snapshot: one that was complete when the process ended, or one that was installed just before, while Ratis was about to delete the log. Any
   * other log that ends before the rows lacks entries, since none is applied before it is on disk.
   *
   * @throws DamagedException when the log lacks entries
   */
  public void fit(RangeId range, RocksRange rows, RowsDirectory files) throws IOException {
    var last = GroupStorage.lastEntry(log);
    if (last.isEmpty()) return;
    long end = last.getAsLong();
    long rowsEnd = rows.flushed().index();
    if (end < rowsEnd && files.installedEnd() != rowsEnd)
      throw new DamagedException("range '%s': its log in %s lacks entries: it ends with entry %d, and its rows have entry %d".formatted(range, log, end, rowsEnd));
    if (end < rowsEnd || (Files.exists(files.ready()) && end < RocksRange.positionIn(files.ready()).index())) GroupStorage.deleteEntries(log);
  }

  /** Bytes of the log's files at the last look. */
  public long bytes() {
    return bytes;
  }

  /** Flushes the rows if it is time, and answers whether the log can be truncated now. */
  public boolean flush(RocksRange rows, long appliedBytes, boolean diskLow, long nowNanos) {
    if (!looked) flushedNanos = nowNanos;
    looked = true;
    bytes = bytesIn(log.resolve("current").toFile());
    long entries = rows.written().index() - rows.flushed().index();
    long age = settings.snapshots().age().toNanos();
    boolean due =
        entries >= settings.snapshots().entries()
            || appliedBytes - flushedBytes >= settings.snapshots().logBytes()
            || nowNanos - flushedNanos >= (diskLow ? Math.min(age, LOW_DISK_AGE_NANOS) : age);
    if (!due) return false;
    flushedNanos = nowNanos;
    flushedBytes = appliedBytes;
    if (entries == 0) return false;
    rows.flush();
    return true;
  }

  /** Whether all entries of the log are on disk. */
  public static boolean written(RaftLog entries) {
    var last = entries.getLastEntryTermIndex();
    return last == null || last.getIndex() <= entries.getFlushIndex();
  }

  /** The entry up to which the log can be truncated when the rows are flushed up to the given one; -1 for none. */
  public long truncatable(RaftLog entries, long flushed) {
    if (!settings.cluster().hasPeers()) return flushed;
    long most = Math.min(flushed, entries.getNextIndex() - 1 - settings.cluster().entriesKept());
    long[] ends = closedSegmentEnds().filter(end -> end <= most).sorted().toArray();
    long must = ends.length > SEGMENTS_KEPT ? ends[ends.length - 1 - SEGMENTS_KEPT] : -1;
    return LongStream.of(ends).filter(end -> end == must || !endsTerm(entries, end)).max().orElse(-1);
  }

  private static boolean endsTerm(RaftLog entries, long index) {
    var last = entries.getTermIndex(index);
    var next = entries.getTermIndex(index + 1);
    return last == null || next == null || last.getTerm() != next.getTerm();
  }

  private LongStream closedSegmentEnds() {
    String[] names = log.resolve("current").toFile().list();
    if (names == null) return LongStream.empty();
    return Stream.of(names).map(CLOSED_SEGMENT::matcher).filter(Matcher::matches).mapToLong(name -> Long.parseLong(name.group(1)));
  }

  private static long bytesIn(File directory) {
    long bytes = 0;
    File[] files = directory.listFiles();
    if (files != null) for (File file : files) bytes += file.length();
    return bytes;
  }
}
