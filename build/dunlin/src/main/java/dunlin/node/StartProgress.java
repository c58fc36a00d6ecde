package dunlin.node;

import dunlin.store.RangeProgress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The progress of a node's start: as a growing number, as text, and in the log from time to time. */
final class StartProgress {
  /*
   * Owner: any thread reads; only the housekeeping thread calls report().
   */
  private static final Logger log = LoggerFactory.getLogger(StartProgress.class);

  private final Supplier<List<RangeProgress>> replicas;
  private final LongSupplier routes;
  private final LongSupplier nanoTime;

  private Figures told;
  private long toldNanos;

  private record Figures(long rows, long entries, long routes) {}

  /**
   * @param replicas how far each replica of this node is
   * @param routes how many routes the session tier has announced
   */
  StartProgress(Supplier<List<RangeProgress>> replicas, LongSupplier routes, LongSupplier nanoTime) {
    this.replicas = replicas;
    this.routes = routes;
    this.nanoTime = nanoTime;
    told = figures();
    toldNanos = nanoTime.getAsLong();
  }

  /** A counter that grows with each row read, each log entry applied, and each route announced. */
  long moved() {
    return replicas.get().stream().mapToLong(RangeProgress::moved).sum() + routes.getAsLong();
  }

  private Figures figures() {
    var ranges = replicas.get();
    return new Figures(
        ranges.stream().mapToLong(RangeProgress::rowsRead).sum(),
        ranges.stream().mapToLong(RangeProgress::entriesApplied).sum(),
        routes.getAsLong());
  }

  /** The current work, such as "sessions: 1,200,000 rows read". */
  String text() {
    List<String> parts = new ArrayList<>();
    for (var range : replicas.get()) {
      switch (range.step()) {
        case FILES -> parts.add("%s: opening its files".formatted(range.range()));
        case ROWS -> parts.add("%s: %s rows read".formatted(range.range(), number(range.rowsRead())));
        case LOG -> parts.add("%s: %s rows read, reading its log".formatted(range.range(), number(range.rowsRead())));
        case ENTRIES -> {
          if (range.led()) continue;
          parts.add(
              "%s: %s log entries replayed, %s left".formatted(range.range(), number(range.entriesApplied()), number(range.entriesLeft())));
        }
      }
    }
    if (parts.isEmpty()) parts.add(number(routes.getAsLong()) + " routes announced");
    return String.join("; ", parts);
  }

  /** Logs the progress, and the rate since the last report. */
  void report() {
    long nanos = nanoTime.getAsLong();
    var now = figures();
    double seconds = Math.max(1, nanos - toldNanos) / (double) TimeUnit.SECONDS.toNanos(1);
    log.info(
        "Starting: {} ({} rows/s, {} log entries/s, {} routes/s)",
        text(),
        number(Math.round((now.rows() - told.rows()) / seconds)),
        number(Math.round((now.entries() - told.entries()) / seconds)),
        number(Math.round((now.routes() - told.routes()) / seconds)));
    told = now;
    toldNanos = nanos;
  }

  /** Logs a summary at the end of the start. */
  void ended() {
    var now = figures();
    log.info(
        "Started with {} rows read, {} log entries replayed, {} routes announced",
        number(now.rows()),
        number(now.entries()),
        number(now.routes()));
  }

  private static String number(long figure) {
    return String.format(Locale.ROOT, "%,d", figure);
  }
}
