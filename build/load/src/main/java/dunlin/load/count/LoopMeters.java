package dunlin.load.count;

import static java.util.Objects.requireNonNull;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/** The counters and histograms of one event loop. */
public final class LoopMeters {
  /*
   * Owner: the event loop is the single writer, so it adds without an atomic instruction; any thread may read a count, and only
   * Meters takes the histograms.
   * Bounds: times above TIME_MICROS_MAX count as that.
   */
  static final long TIME_MICROS_MAX = 3_600_000_000L;
  static final int CODES = 256;
  private static final int DIGITS = 3;

  private final Map<Count, AtomicLong> counts = new EnumMap<>(Count.class);
  private final Map<Codes, AtomicLongArray> codes = new EnumMap<>(Codes.class);
  private final Map<Series, SingleWriterRecorder> recorders = new EnumMap<>(Series.class);

  LoopMeters() {
    for (Count count : Count.values()) counts.put(count, new AtomicLong());
    for (Codes kind : Codes.values()) codes.put(kind, new AtomicLongArray(CODES));
    for (Series series : Series.values()) recorders.put(series, new SingleWriterRecorder(TIME_MICROS_MAX, DIGITS));
  }

  public void add(Count count, long number) {
    AtomicLong counter = requireNonNull(counts.get(count));
    counter.lazySet(counter.getPlain() + number);
  }

  public void add(Count count) {
    add(count, 1);
  }

  public void code(Codes kind, int code) {
    AtomicLongArray counters = requireNonNull(codes.get(kind));
    counters.lazySet(code, counters.getPlain(code) + 1);
  }

  public void time(Series series, long micros) {
    requireNonNull(recorders.get(series)).recordValue(Math.clamp(micros, 0, TIME_MICROS_MAX));
  }

  long get(Count count) {
    return requireNonNull(counts.get(count)).get();
  }

  long get(Codes kind, int code) {
    return requireNonNull(codes.get(kind)).get(code);
  }

  /** The times since the last call; a histogram that is handed back is reused. */
  Histogram interval(Series series, @Nullable Histogram recycled) {
    return requireNonNull(recorders.get(series)).getIntervalHistogram(recycled);
  }

  static Histogram newHistogram() {
    return new Histogram(TIME_MICROS_MAX, DIGITS);
  }
}
