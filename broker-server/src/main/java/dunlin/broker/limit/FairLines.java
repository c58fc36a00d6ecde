package dunlin.broker.limit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SequencedSet;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Waiting elements, in a line for each source; the lines take turns. So a source with many elements delays only itself,
 * and a source with few waits for at most one element of each other source.
 */
public final class FairLines<T> {
  /*
   * Owner: any thread; guarded by its monitor, under which nothing is called.
   * Bounds: max in all lines together. Full: the last element of the longest line is rejected; that is the new one
   * unless its line is shorter by more than one. A line exists while it has elements. A step takes time logarithmic in
   * the number of different lengths.
   */
  private final int max;
  @GuardedBy("this")
  private final Map<Long, Line<T>> lines = new HashMap<>();
  @GuardedBy("this")
  private final ArrayDeque<Line<T>> turns = new ArrayDeque<>();
  @GuardedBy("this")
  private final NavigableMap<Integer, SequencedSet<Line<T>>> byLength = new TreeMap<>();
  @GuardedBy("this")
  private int size;

  private static final class Line<T> {
    private final long source;
    private final ArrayDeque<T> waiting = new ArrayDeque<>();

    private Line(long source) {
      this.source = source;
    }
  }

  /** @param max maximum number of waiting elements */
  public FairLines(int max) {
    this.max = max;
  }

  /**
   * Adds an element at the end of its line. Answers the element that is rejected for it: null while there is room, else
   * this one or another.
   */
  public synchronized @Nullable T offer(long source, T one) {
    T without = null;
    if (size >= max) {
      Line<T> own = lines.get(source);
      Line<T> longest = byLength.lastEntry().getValue().getFirst();
      if (longest.waiting.size() <= 1 + (own == null ? 0 : own.waiting.size())) return one;
      int before = longest.waiting.size();
      without = longest.waiting.removeLast(); // the line keeps at least one element
      measured(longest, before);
      size--;
    }
    Line<T> line = lines.get(source);
    if (line == null) {
      line = new Line<>(source);
      lines.put(source, line);
      turns.add(line);
    }
    line.waiting.add(one);
    measured(line, line.waiting.size() - 1);
    size++;
    return without;
  }

  /** Removes the next element, of the line whose turn it is; null if there is none. */
  public synchronized @Nullable T poll() {
    Line<T> line = turns.poll();
    if (line == null) return null;
    T one = line.waiting.remove();
    measured(line, line.waiting.size() + 1);
    size--;
    if (line.waiting.isEmpty()) lines.remove(line.source);
    else turns.add(line);
    return one;
  }

  @GuardedBy("this")
  private void measured(Line<T> line, int before) {
    SequencedSet<Line<T>> former = byLength.get(before);
    if (former != null) {
      former.remove(line);
      if (former.isEmpty()) byLength.remove(before);
    }
    if (!line.waiting.isEmpty()) byLength.computeIfAbsent(line.waiting.size(), _ -> new LinkedHashSet<>()).add(line);
  }

  public synchronized int size() {
    return size;
  }
}
