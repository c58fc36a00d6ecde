package dunlin.chaos.history;

import dunlin.chaos.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** Compares the answers that callers got with the replicas' final contents. It does not know the faults: nothing excuses a violation. */
public final class Checker {
  /*
   * Owner: its creator, for one check. The ledger of a replica is a list in the order of the log, so no search over
   * possible orders is needed: every rule is one pass.
   */

  /** The kinds of violations. */
  public enum Violation {
    LOST("acknowledged, and not in the ledger at the place that was told"),
    DOUBLED("more than once in the ledger"),
    INVENTED("in the ledger, and nobody has written it so"),
    REFUSED_AND_DONE("refused, and in the ledger"),
    BEHIND("told to a writer: the ledger ends before what was acknowledged earlier"),
    DISORDERED("placed before a write that had been acknowledged when it began"),
    STALE("a read after a barrier that does not show what had been acknowledged when it began"),
    GAP("a place of the ledger that nothing has"),
    DIFFERENT("replicas that are not equal");

    final String meaning;

    Violation(String meaning) {
      this.meaning = meaning;
    }
  }

  /**
   * The result of a check.
   *
   * @param unknownDone how many of the unknown writes were done
   * @param counts the number of each violation that occurred
   * @param samples one sentence for the first few of each
   */
  public record Findings(
      long acknowledged, long refused, long unknown, long unknownDone, Map<Violation, Long> counts, List<String> samples) {
    public boolean clean() {
      return counts.isEmpty();
    }

    public long count(Violation violation) {
      return counts.getOrDefault(violation, 0L);
    }
  }

  private static final int SAMPLES_OF_EACH = 3;

  private final Map<Violation, Long> counts = new EnumMap<>(Violation.class);
  private final List<String> samples = new ArrayList<>();
  private final Map<Long, Operation> byId = new HashMap<>();

  private Checker() {}

  /** @param replicas the rows of each, by the replica's name; at least one */
  public static Findings check(History history, Map<String, List<Row>> replicas) {
    if (replicas.isEmpty()) throw new IllegalArgumentException("no replica to compare with");
    return new Checker().run(history, replicas);
  }

  private Findings run(History history, Map<String, List<Row>> replicas) {
    for (var operation : history.operations())
      if (byId.put(operation.id(), operation) != null)
        throw new IllegalArgumentException("two operations have the id " + operation.id());
    compareReplicas(replicas);
    for (var operation : history.operations())
      if (operation.outcome() instanceof Outcome.Behind) found(Violation.BEHIND, String.valueOf(operation));
    // Each replica is compared with the history, so that one replica cannot hide the loss of another.
    var distinct = new LinkedHashMap<String, List<Row>>();
    replicas.forEach((name, rows) -> { if (!distinct.containsValue(rows)) distinct.put(name, rows); });
    distinct.forEach((name, rows) -> outcomes(history, name, places(name, rows)));
    reads(history);
    return findings(history, replicas);
  }

  private void compareReplicas(Map<String, List<Row>> replicas) {
    var first = replicas.entrySet().iterator().next();
    for (var other : replicas.entrySet()) {
      if (first.getValue().equals(other.getValue())) continue;
      int at = 0;
      int both = Math.min(first.getValue().size(), other.getValue().size());
      while (at < both && first.getValue().get(at).equals(other.getValue().get(at))) at++;
      found(
          Violation.DIFFERENT,
          first.getKey() + " has " + first.getValue().size() + " rows, " + other.getKey() + " has " + other.getValue().size()
              + "; the first that differs is the one of index " + at);
    }
  }

  /** The place of each write; reports errors in the rows themselves. */
  private Map<Long, Long> places(String replica, List<Row> rows) {
    var places = new HashMap<Long, Long>();
    long expected = 1;
    for (var row : rows) {
      if (row.place() != expected) found(Violation.GAP, replica + " has place " + row.place() + " where " + expected + " should be");
      expected = row.place() + 1;
      var operation = byId.get(row.id());
      if (operation == null || operation.seen() != row.seen())
        found(Violation.INVENTED, replica + " has " + row + ", written was " + operation);
      var before = places.putIfAbsent(row.id(), row.place());
      if (before != null) found(Violation.DOUBLED, replica + " has " + row + " also at " + before);
    }
    return places;
  }

  private void outcomes(History history, String replica, Map<Long, Long> places) {
    for (var operation : history.operations()) {
      var place = places.get(operation.id());
      switch (operation.outcome()) {
        case Outcome.Placed(long told) -> {
          if (place == null || place != told)
            found(Violation.LOST, operation + (place == null ? " is not on " : " is at " + place + " on ") + replica);
        }
        case Outcome.Refused _, Outcome.Behind _ -> {
          if (place != null) found(Violation.REFUSED_AND_DONE, operation + " is at " + place + " on " + replica);
        }
        case Outcome.Unknown _ -> {}
      }
    }
    var acknowledged = new Floor(history, operation -> places.getOrDefault(operation.id(), -1L));
    for (var operation : sorted(history.operations(), Operation::invokedNanos)) {
      long floor = acknowledged.before(operation.invokedNanos());
      var place = places.get(operation.id());
      if (place != null && place <= floor)
        found(Violation.DISORDERED, operation + " is at " + place + " on " + replica + ", behind it was " + floor + " already");
    }
  }

  private void reads(History history) {
    var acknowledged = new Floor(history, operation -> operation.outcome() instanceof Outcome.Placed(long told) ? told : -1);
    for (var read : sorted(history.reads(), Read::invokedNanos)) {
      long floor = acknowledged.before(read.invokedNanos());
      if (read.last() < floor) found(Violation.STALE, read + ", acknowledged was " + floor);
    }
  }

  private static <T> List<T> sorted(List<T> list, ToLongFunction<T> time) {
    return list.stream().sorted(Comparator.comparingLong(time)).toList();
  }

  /** The highest place that had been acknowledged before a time; called with ascending times. */
  private static final class Floor {
    private final List<Operation> byAnswer;
    private final ToLongFunction<Operation> place;
    private int next;
    private long highest;

    Floor(History history, ToLongFunction<Operation> place) {
      byAnswer =
          sorted(
              history.operations().stream().filter(operation -> operation.outcome() instanceof Outcome.Placed).toList(),
              Operation::answeredNanos);
      this.place = place;
    }

    long before(long nanos) {
      for (; next < byAnswer.size() && byAnswer.get(next).answeredNanos() < nanos; next++)
        highest = Math.max(highest, place.applyAsLong(byAnswer.get(next)));
      return highest;
    }
  }

  private Findings findings(History history, Map<String, List<Row>> replicas) {
    var done = new HashSet<Long>();
    for (var rows : replicas.values()) for (var row : rows) done.add(row.id());
    long[] by = new long[4];
    for (var operation : history.operations())
      switch (operation.outcome()) {
        case Outcome.Placed _ -> by[0]++;
        case Outcome.Refused _, Outcome.Behind _ -> by[1]++;
        case Outcome.Unknown _ -> {
          by[2]++;
          if (done.contains(operation.id())) by[3]++;
        }
      }
    return new Findings(by[0], by[1], by[2], by[3], Map.copyOf(counts), List.copyOf(samples));
  }

  private void found(Violation violation, String sentence) {
    long before = counts.merge(violation, 1L, Long::sum) - 1;
    if (before < SAMPLES_OF_EACH) samples.add(violation + ", " + violation.meaning + ": " + sentence);
  }

  /** The longest time without an acknowledgement between two times, in nanoseconds. */
  public static long longestGap(History history, long fromNanos, long untilNanos) {
    long[] answered =
        history.operations().stream()
            .filter(operation -> operation.outcome() instanceof Outcome.Placed)
            .mapToLong(Operation::answeredNanos)
            .toArray();
    Arrays.sort(answered);
    long longest = 0;
    long last = fromNanos;
    for (long time : answered) {
      if (time <= fromNanos) continue;
      if (time >= untilNanos) break;
      longest = Math.max(longest, time - last);
      last = time;
    }
    return Math.max(longest, untilNanos - last);
  }
}
