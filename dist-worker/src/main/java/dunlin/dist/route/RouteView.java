package dunlin.dist.route;

import dunlin.store.RangeDescriptor;
import dunlin.store.serve.EpochRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** All ranges of routes as the leader of the first one knows them at one time: its own by its rows, the others by the map of the cluster. Immutable. */
public final class RouteView {
  /*
   * The map may be late: keys that no range of it has are a part of their own, without a leader to ask.
   */
  private final long epoch;
  private final FilterRanges ranges;

  /** In the order of their keys; the first one is the own range. */
  private final List<Optional<Other>> parts;

  /** Asks the leader of a range at one epoch. */
  public interface Other {
    UUID range();

    /**
     * The routes that a topic matches, all of them.
     *
     * @param topic the topic name in UTF-8
     * @param known what the caller has of them
     * @return completes on any thread; fails when the range has another epoch, or its leader cannot say now
     */
    CompletableFuture<RouteMatch> match(String tenant, byte[] topic, MatchSignature known);
  }

  private RouteView(long epoch, List<byte[]> cuts, List<Optional<Other>> parts) {
    this.epoch = epoch;
    ranges = new FilterRanges(cuts);
    this.parts = List.copyOf(parts);
  }

  /** Of a range with all keys, which has no epoch and is never split. */
  public static RouteView whole() {
    return new RouteView(EpochRange.ALONE, List.of(), List.of(Optional.empty()));
  }

  /**
   * @param own the first range
   * @param map all ranges by the map of the cluster; their keys are disjoint
   * @param others how ranges are asked
   */
  public static RouteView of(RangeDescriptor own, List<RangeDescriptor> map, Function<RangeDescriptor, Other> others) {
    if (own.keys().start().length > 0) throw new IllegalArgumentException("not the first range: " + own);
    var sorted = map.stream().filter(range -> !range.id().equals(own.id())).sorted((one, other) -> one.keys().compareStart(other.keys())).toList();
    var cuts = new ArrayList<byte[]>();
    var parts = new ArrayList<Optional<Other>>();
    parts.add(Optional.empty());
    byte @Nullable [] key = own.keys().end();
    while (key != null) {
      byte[] from = key;
      cuts.add(from);
      var known = sorted.stream().filter(range -> range.keys().contains(from)).findFirst();
      parts.add(known.map(others));
      key = known.isPresent() ? known.get().keys().end() : nextStart(sorted, from);
    }
    return new RouteView(own.epoch(), cuts, parts);
  }

  private static byte @Nullable [] nextStart(List<RangeDescriptor> sorted, byte[] behind) {
    for (var range : sorted) {
      byte[] start = range.keys().start();
      if (Arrays.compareUnsigned(start, behind) > 0) return start;
    }
    return null;
  }

  /** That of the first range. */
  public long epoch() {
    return epoch;
  }

  /** Finds the parts that a topic visits, by their numbers; 0 is the first range. */
  public FilterRanges.Search search() {
    return ranges.new Search();
  }

  /** The range of a part behind the first; empty where none is known. */
  public Optional<Other> part(int number) {
    return parts.get(number);
  }
}
