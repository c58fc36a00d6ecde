package dunlin.store.disk;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.CommandKind;
import dunlin.store.LowDiskException;
import dunlin.store.RangeId;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether the disk of the data directory has room for more commands, and of which kind. */
public final class DiskSpace implements AutoCloseable {
  /*
   * Owner: the maintenance thread measures; any thread asks.
   * Bounds: two marks. Below the upper one, the low-water mark, the disk is low: only commands that free space or need
   * none are accepted. The space between the marks is the reserve for these: for their log entries and tombstones, and
   * for the files that a compaction writes before it deletes others. Below the lower mark no command is accepted, since
   * Ratis and RocksDB need room for those already accepted. Besides, the size of the largest snapshot that did not fit, until it would.
   * Failure: when the free space cannot be read, the last state stays. A disk that fills up between two measurements
   * makes Ratis or RocksDB fail, which stops the process.
   */
  private static final Logger log = LoggerFactory.getLogger(DiskSpace.class);
  private static final long GIB = 1024L * 1024 * 1024;

  /** The source of the measurements. */
  public interface Source {
    /** Bytes that this process may still write. */
    long free();

    long total();
  }

  private enum State { ENOUGH, LOW, CRITICAL }

  private final Source source;
  private final long configuredLow;
  private final long configuredCritical;

  private volatile long free; // single writer of this and the next three: the maintenance thread
  private volatile long lowMark;
  private volatile long criticalMark;
  private volatile State state = State.ENOUGH;

  /** Bytes of the largest snapshot that there was no room for; 0 for none, or when there is. */
  private final AtomicLong lacking = new AtomicLong();

  @GuardedBy("this")
  private Runnable hide = () -> {};

  /** The marks are in bytes; 0 derives a mark from the disk's size. A critical mark above the low one counts as the low one. */
  public DiskSpace(Source source, long low, long critical) {
    this.source = source;
    configuredLow = low;
    configuredCritical = critical;
    measure();
  }

  /** Registers the meters, until this is closed. */
  public synchronized void show(MeterRegistry registry) {
    var gauges =
        List.of(
            Gauge.builder("dunlin.store.disk.free", this, disk -> disk.free)
                .description("Free bytes on the data directory's disk")
                .baseUnit("bytes")
                .register(registry),
            Gauge.builder("dunlin.store.disk.low", this, disk -> disk.low() ? 1 : 0)
                .description("1 while the node takes no commands that need space, because its disk is nearly full")
                .register(registry),
            Gauge.builder("dunlin.store.disk.critical", this, disk -> disk.critical() ? 1 : 0)
                .description("1 while the node takes no commands at all, because its disk has used up the reserve for freeing space")
                .register(registry));
    hide = () -> gauges.forEach(registry::remove);
  }

  /** Whether the free space is below the low-water mark. */
  public boolean low() {
    return state != State.ENOUGH;
  }

  /** Whether the reserve is used up, too. */
  boolean critical() {
    return state == State.CRITICAL;
  }

  public boolean takes(CommandKind kind) {
    return switch (state) {
      case ENOUGH -> true;
      case LOW -> kind == CommandKind.RELEASE;
      case CRITICAL -> false;
    };
  }

  /** Whether this many more bytes can be written without going below the low-water mark. If not, the disk {@link #lacksRoom}. */
  public boolean canHold(long bytes) {
    boolean fits = source.free() - bytes >= lowMark;
    if (!fits) lacking.accumulateAndGet(bytes, Math::max);
    return fits;
  }

  /** Whether there was no room for what {@link #canHold} has been asked about, and still is not. */
  public boolean lacksRoom() {
    return lacking.get() > 0;
  }

  public LowDiskException refusal(RangeId range) {
    return new LowDiskException(
        critical()
            ? "range '" + range + "' takes no commands at all: the node's disk has " + free + " bytes left, less than " + criticalMark
                + " (dunlin.store.disk-critical-min)"
            : "range '" + range + "' takes no commands that need space: the node's disk has " + free + " bytes left, less than " + lowMark
                + " (dunlin.store.disk-free-min)");
  }

  /** Measures again. Commands are accepted again only once some more space is free, so that the state does not flap. */
  public void measure() {
    long total = source.total();
    long now = source.free();
    if (total <= 0 || now < 0) return;
    free = now;
    lowMark = lowMark(configuredLow, total);
    criticalMark = Math.min(lowMark, configuredCritical > 0 ? configuredCritical : lowMark / 2);
    State before = state;
    if (below(now, criticalMark, before == State.CRITICAL)) state = State.CRITICAL;
    else state = below(now, lowMark, before != State.ENOUGH) ? State.LOW : State.ENOUGH;
    if (state != before) tell();
    long wanted = lacking.get();
    if (wanted > 0 && !below(now - wanted, lowMark, true)) lacking.compareAndSet(wanted, 0);
  }

  /** The bytes of a disk of this size that stay free; 0 derives them from the size. */
  public static long lowMark(long configured, long total) {
    return configured > 0 ? configured : Math.min(GIB, total / 20);
  }

  private static boolean below(long free, long mark, boolean before) {
    return free < (before ? mark + mark / 4 : mark);
  }

  private void tell() {
    switch (state) {
      case CRITICAL ->
          log.error(
              "The disk has {} bytes left, less than {} (dunlin.store.disk-critical-min): no commands are accepted, not even those that"
                  + " free space, until {} bytes are free",
              free, criticalMark, criticalMark + criticalMark / 4);
      case LOW ->
          log.error(
              "The disk has {} bytes left, less than {} (dunlin.store.disk-free-min): only commands that free space or need none are"
                  + " accepted until {} bytes are free",
              free, lowMark, lowMark + lowMark / 4);
      case ENOUGH -> log.warn("The disk has {} bytes left: all commands are accepted again", free);
    }
  }

  @Override
  public synchronized void close() {
    hide.run();
  }
}
