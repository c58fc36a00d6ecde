package dunlin.load.page;

import dunlin.load.count.Count;
import dunlin.load.count.Snapshot;
import dunlin.load.engine.Moment;
import dunlin.load.engine.Phase;
import dunlin.load.engine.Point;
import java.util.List;
import java.util.Map;

/** Made-up seconds of a run. */
final class Moments {
  static final Phase PHASE = new Phase("publish", 2, 3, 1.5, 60);

  private Moments() {}

  static Point point(int second) {
    return new Point(second, 10, 1, 100 + second, 200, 0, 1_000, 2_000, 3_000, 4_000);
  }

  static Moment moment(int second) {
    return moment(second, Map.of());
  }

  /** @param failures by reason */
  static Moment moment(int second, Map<String, Long> failures) {
    var counted = new Snapshot(Map.of(Count.PUBLISHED_1, 7L, Count.DUE, 14L, Count.RECEIVED_1, 10L, Count.DUPLICATED_1, 1L), Map.of(), failures, Map.of());
    return new Moment(point(second), counted, List.of());
  }
}
