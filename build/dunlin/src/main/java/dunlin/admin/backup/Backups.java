package dunlin.admin.backup;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes backups of the data of a node or its cluster, one at a time. */
public final class Backups implements BackupsMXBean, AutoCloseable {
  /*
   * Owner: any thread begins, asks and cancels, under this object's lock; each backup has a thread of its own.
   * Bounds: one backup at a time. Another one is an IllegalStateException with a sentence.
   * Failure: a backup that fails says why in its row and in the log, and leaves nothing. Closing cancels the one that runs, and waits CLOSE_MAX for it.
   */
  private static final Logger log = LoggerFactory.getLogger(Backups.class);
  private static final String NAMES = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}";
  private static final Duration CLOSE_MAX = Duration.ofSeconds(3);
  private static final BackupRow NONE = new BackupRow("", "none", "", "", "", 0, 0, 0, "");

  private final Of node;
  private final BackupSource source;
  private final MeterRegistry meters;
  private final Counter bytes;

  @GuardedBy("this")
  private @Nullable Backup last;

  @GuardedBy("this")
  private @Nullable Thread thread; // that of the last one

  @GuardedBy("this")
  private boolean closed;

  /**
   * The node that makes them.
   *
   * @param directoryOrNull in which each has a directory of its own; null where none may be made
   * @param bytesPerSecond at most
   * @param diskFreeMin bytes that stay free on the disk of the backups; 0 derives them from its size
   * @param dataDirectory of the node
   * @param files in it, beside the store, that a new node needs as well
   */
  public record Of(
      String id, String version, @Nullable Path directoryOrNull, long bytesPerSecond, long diskFreeMin, Path dataDirectory, List<String> files, InstantSource clock) {
    public Of {
      files = List.copyOf(files);
    }
  }

  public Backups(Of node, BackupSource source, MeterRegistry meters) {
    this.node = node;
    this.source = source;
    this.meters = meters;
    bytes = Counter.builder("dunlin.backup.bytes").description("Bytes that were copied for backups").register(meters);
    for (Backup.State state : Backup.State.values()) if (state != Backup.State.RUNNING) ended(state).increment(0); // so that each is in the metrics
  }

  private Counter ended(Backup.State state) {
    return Counter.builder("dunlin.backup.ended").description("Backups that have ended").tag("outcome", state.name().toLowerCase(Locale.ROOT)).register(meters);
  }

  @Override
  public synchronized BackupRow getLast() {
    return last == null ? NONE : last.row();
  }

  @Override
  public synchronized BackupRow begin(String name) {
    if (!name.matches(NAMES)) throw new IllegalArgumentException("the name of a backup has 1 to 64 letters, digits, dots, - and _, and does not begin with a dot");
    Path directory = node.directoryOrNull();
    if (directory == null) throw new IllegalStateException("this node has no directory for backups; set dunlin.backup.directory");
    if (closed) throw new IllegalStateException("the node is stopping");
    if (last != null && last.runs()) throw new IllegalStateException("the backup " + last.row().name() + " is being made already");
    Backup begun = Backup.begin(name, directory, node, source, bytes::increment);
    last = begun;
    thread = Thread.ofPlatform().daemon().name("dunlin-backup").start(() -> make(begun));
    return begun.row();
  }

  private void make(Backup backup) {
    backup.make();
    BackupRow row = backup.row();
    ended(backup.state()).increment();
    if (backup.state() == Backup.State.COMPLETE) log.info("Backup {} is complete: {} ranges, {} bytes, in {}", row.name(), row.ranges(), row.bytes(), row.path());
    else log.warn("Backup {} was not made: {}", row.name(), row.problem().isEmpty() ? row.state() : row.problem());
  }

  @Override
  public synchronized BackupRow cancel() {
    if (last == null || !last.runs()) throw new IllegalStateException("no backup is being made");
    last.cancel();
    return last.row();
  }

  @Override
  public void close() {
    Thread waited;
    synchronized (this) {
      closed = true;
      waited = thread;
      if (last != null) last.cancel();
    }
    try {
      if (waited != null && !waited.join(CLOSE_MAX)) log.warn("A backup has not ended within {}", CLOSE_MAX);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
