package dunlin.admin.doctor;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** By how much counters have risen in the last hour, or since the start when that is not an hour ago. */
final class RecentCounts {
  /*
   * Owner: the housekeeping thread calls look() each minute, and any thread asks; the lock is this object's.
   * Bounds: LOOKS readings of a few counters, whose tags are from closed sets.
   * Failure: none. A look that comes late makes the hour longer.
   */
  static final int LOOK_SECONDS = 60;
  static final int LOOKS = 60;

  private final NodeMeters meters;
  private final List<String> names;

  @GuardedBy("this")
  private final Deque<Map<String, Long>> readings = new ArrayDeque<>();

  RecentCounts(NodeMeters meters, List<String> names) {
    this.meters = meters;
    this.names = List.copyOf(names);
  }

  synchronized void look() {
    if (readings.size() == LOOKS) readings.removeFirst();
    readings.addLast(meters.counts(names));
  }

  /** By how much each of some of the counters has risen; without those that have not. */
  synchronized SortedMap<String, Long> risen(List<String> of) {
    Map<String, Long> then = readings.size() < LOOKS ? Map.of() : readings.getFirst();
    SortedMap<String, Long> risen = new TreeMap<>();
    meters.counts(of).forEach(
        (name, count) -> {
          long by = count - then.getOrDefault(name, 0L);
          if (by > 0) risen.put(name, by);
        });
    return risen;
  }
}
