package dunlin.runtime;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** Keeps the first ones, in some order, of all that it is offered: a page of what has no order of its own. Not thread-safe. */
public final class FirstRows<T> {
  /*
   * Bounds: max rows. An offer that is not among the first ones so far costs one comparison.
   */
  private final Comparator<T> order;
  private final int max;

  /** The last one first. */
  private final PriorityQueue<T> rows;

  /** @param max how many are kept, at least 1 */
  public FirstRows(Comparator<T> order, int max) {
    this.order = order;
    this.max = max;
    this.rows = new PriorityQueue<>(order.reversed());
  }

  public void offer(T row) {
    if (rows.size() == max) {
      if (order.compare(row, rows.element()) >= 0) return;
      rows.remove();
    }
    rows.add(row);
  }

  public void offerAll(Iterable<T> all) {
    for (T each : all) offer(each);
  }

  /** The first ones so far, in their order. */
  public List<T> inOrder() {
    List<T> sorted = new ArrayList<>(rows);
    sorted.sort(order);
    return sorted;
  }
}
