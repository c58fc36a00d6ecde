package dunlin.store;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether the disk of the data directory has room for more commands. */
final class DiskSpace implements AutoCloseable {
  /*
   * Owner: the upkeep thread measures; any thread asks.
   * Failure: a disk that cannot be asked counts as it did before. What fills between two measurements is met by Ratis and
   * RocksDB, and stops the process.
   */
  private static final Logger log = LoggerFactory.getLogger(DiskSpace.class);
  private static final long GIB = 1024L * 1024 * 1024;

  /** Where the figures come from. */
  interface Source {
    /** Bytes that this process may still write. */
    long free();

    long total();
  }

  private final Source source;
  private final long configured;

  private volatile long free; // single writer: the upkeep thread
  private volatile long least; // likewise
  private volatile boolean low; // likewise

  private Runnable hide = () -> {}; // guarded by this

  DiskSpace(Source source, long configured) {
    this.source = source;
    this.configured = configured;
    measure();
  }

  /** Shows it, until it is closed. */
  synchronized void show(MeterRegistry registry) {
    var gauges =
        List.of(
            Gauge.builder("dunlin.store.disk.free", this, disk -> disk.free)
                .description("Bytes that the data directory's disk has left")
                .baseUnit("bytes")
                .register(registry),
            Gauge.builder("dunlin.store.disk.low", this, disk -> disk.low ? 1 : 0)
                .description("1 while the node takes no commands because its disk is nearly full")
                .register(registry));
    hide = () -> gauges.forEach(registry::remove);
  }

  boolean low() {
    return low;
  }

  /** Whether so many bytes more leave as much as there must be. */
  boolean canHold(long bytes) {
    return source.free() - bytes >= least;
  }

  LowDiskException refusal(RangeId range) {
    return new LowDiskException(
        "range '" + range + "' takes no commands: the node's disk has " + free + " bytes left, less than "
            + least + " (dunlin.store.disk-free-min)");
  }

  /** Looks again; some room must come back before commands are taken again, or it would go to and fro. */
  void measure() {
    long total = source.total();
    long now = source.free();
    if (total <= 0 || now < 0) return;
    free = now;
    least = configured > 0 ? configured : Math.min(GIB, total / 20);
    boolean before = low;
    low = before ? now < least + least / 4 : now < least;
    if (low && !before)
      log.error(
          "The disk has {} bytes left, less than {} (dunlin.store.disk-free-min): no commands are taken before there are {}",
          now, least, least + least / 4);
    else if (before && !low) log.warn("The disk has {} bytes left again: commands are taken", now);
  }

  @Override
  public synchronized void close() {
    hide.run();
  }
}
