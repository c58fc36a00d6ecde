package dunlin.load.count;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** The meters of all event loops of a run, added up. */
public final class Meters {
  /* Owner: any thread; the lock guards the totals of the histograms, which the loops never touch. */
  private final List<LoopMeters> loops;

  @GuardedBy("this")
  private final Map<Series, List<@Nullable Histogram>> recycled = new EnumMap<>(Series.class);

  @GuardedBy("this")
  private final Map<Series, Histogram> totals = new EnumMap<>(Series.class);

  /** Distinct reasons of failed connections; further ones count as "other". */
  private static final int FAILURES_MAX = 64;

  private final ConcurrentHashMap<String, LongAdder> failures = new ConcurrentHashMap<>();

  public Meters(int loopCount) {
    var list = new ArrayList<LoopMeters>();
    for (int i = 0; i < loopCount; i++) list.add(new LoopMeters());
    loops = List.copyOf(list);
    for (Series series : Series.values()) {
      totals.put(series, LoopMeters.newHistogram());
      recycled.put(series, new ArrayList<>(Collections.nCopies(loopCount, null)));
    }
  }

  /** An empty histogram with the settings of all histograms. */
  public static Histogram newHistogram() {
    return LoopMeters.newHistogram();
  }

  public LoopMeters loop(int number) {
    return loops.get(number);
  }

  public long get(Count count) {
    long sum = 0;
    for (LoopMeters loop : loops) sum += loop.get(count);
    return sum;
  }

  public long sum(Count... counts) {
    long sum = 0;
    for (Count count : counts) sum += get(count);
    return sum;
  }

  /** Counts the reason why a connection failed or ended, in the system's words. */
  public void failure(String reason) {
    String name = failures.size() < FAILURES_MAX || failures.containsKey(reason) ? reason : "other";
    failures.computeIfAbsent(name, _ -> new LongAdder()).increment();
  }

  /** The times since the last call, which are also added to the totals. */
  public synchronized Map<Series, Histogram> interval() {
    var interval = new EnumMap<Series, Histogram>(Series.class);
    for (Series series : Series.values()) {
      Histogram sum = LoopMeters.newHistogram();
      for (int i = 0; i < loops.size(); i++) {
        List<@Nullable Histogram> used = requireNonNull(recycled.get(series));
        Histogram part = loops.get(i).interval(series, used.get(i));
        used.set(i, part);
        if (part.getTotalCount() > 0) sum.add(part);
      }
      if (sum.getTotalCount() == 0) continue;
      interval.put(series, sum);
      requireNonNull(totals.get(series)).add(sum);
    }
    return interval;
  }

  /** Everything since the run began. */
  public synchronized Snapshot snapshot() {
    var _ = interval();
    var times = new EnumMap<Series, Histogram>(Series.class);
    totals.forEach((series, histogram) -> times.put(series, histogram.copy()));
    Snapshot counted = counted();
    return new Snapshot(counted.counts(), counted.codes(), counted.failures(), times);
  }

  /** Everything since the run began except the times. */
  public Snapshot counted() {
    var counts = new EnumMap<Count, Long>(Count.class);
    for (Count count : Count.values()) counts.put(count, get(count));
    var codes = new EnumMap<Codes, Map<String, Long>>(Codes.class);
    for (Codes kind : Codes.values()) {
      var byName = new TreeMap<String, Long>();
      for (int code = 0; code < LoopMeters.CODES; code++) {
        long sum = 0;
        for (LoopMeters loop : loops) sum += loop.get(kind, code);
        if (sum > 0) byName.put(kind.name(code), sum);
      }
      codes.put(kind, byName);
    }
    var reasons = new TreeMap<String, Long>();
    failures.forEach((name, number) -> reasons.put(name, number.sum()));
    return new Snapshot(counts, codes, reasons, Map.of());
  }
}
