package dunlin.load.engine;

import java.util.ArrayList;
import java.util.List;

/** The seconds of a run, thinned out in a long run. */
final class Points {
  /* Owner: the run's watch. Bounds: POINTS_MAX. Full: every other point is removed, and half as many new points are kept from then on. */
  static final int POINTS_MAX = 3_600;

  private final List<Point> points = new ArrayList<>();
  private int every = 1;
  private int offered;

  void add(Point point) {
    if (offered++ % every != 0) return;
    if (points.size() == POINTS_MAX) {
      for (int i = 1; i <= POINTS_MAX / 2; i++) points.remove(i);
      every *= 2;
    }
    points.add(point);
  }

  List<Point> list() {
    return List.copyOf(points);
  }
}
