package dunlin.load.page;

import dunlin.load.engine.Point;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The seconds of a run for pages that open late or reconnect: recent seconds one by one, earlier ones merged. */
final class Timeline {
  /*
   * Owner: the page's event loop.
   * Bounds: SECONDS_MAX rows of one second, and TOGETHER_MAX rows of several. Full: rows are merged in pairs, and each
   * new one has twice as many seconds.
   */
  static final int SECONDS_MAX = 600;
  static final int TOGETHER_MAX = 600;
  private static final int TOGETHER_SECONDS = 5;

  private final ArrayDeque<Row> seconds = new ArrayDeque<>();
  private List<Row> together = new ArrayList<>();
  private @Nullable Row growing;
  private int togetherSeconds = TOGETHER_SECONDS;
  private long last;

  /**
   * One second, or several.
   *
   * @param number the number of its last second, from 1
   * @param seconds how many seconds it has
   */
  record Row(long number, int seconds, Point point) {
    /** Merges two rows: connections at the end, average rates, and the longest times. */
    Row plus(Row later) {
      Point one = point;
      Point other = later.point;
      var both =
          new Point(
              other.second(), other.connected(), average(one.connects(), later, other.connects()), average(one.published(), later, other.published()),
              average(one.received(), later, other.received()), average(one.errors(), later, other.errors()), Math.max(one.p50(), other.p50()),
              Math.max(one.p90(), other.p90()), Math.max(one.p99(), other.p99()), Math.max(one.max(), other.max()));
      return new Row(later.number, seconds + later.seconds, both);
    }

    private double average(double rate, Row later, double laterRate) {
      return (rate * seconds + laterRate * later.seconds) / (seconds + later.seconds);
    }
  }

  void add(Point point) {
    seconds.addLast(new Row(++last, 1, point));
    if (seconds.size() <= SECONDS_MAX) return;
    Row leaving = seconds.removeFirst();
    Row grown = growing == null ? leaving : growing.plus(leaving);
    growing = grown;
    if (grown.seconds() < togetherSeconds) return;
    together.add(grown);
    growing = null;
    if (together.size() == TOGETHER_MAX) halve();
  }

  private void halve() {
    var half = new ArrayList<Row>();
    for (int i = 0; i < together.size(); i += 2) half.add(together.get(i).plus(together.get(i + 1)));
    together = half;
    togetherSeconds *= 2;
  }

  /** The number of the latest second, or 0 before the first one. */
  long last() {
    return last;
  }

  /** The rows after a second. */
  List<Row> after(long number) {
    var rows = new ArrayList<Row>();
    for (Row row : together) if (row.number() > number) rows.add(row);
    if (growing != null && growing.number() > number) rows.add(growing);
    for (Row row : seconds) if (row.number() > number) rows.add(row);
    return rows;
  }
}
