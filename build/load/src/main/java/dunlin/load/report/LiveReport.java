package dunlin.load.report;

import static dunlin.load.report.JsonReport.ordered;

import dunlin.load.count.Count;
import dunlin.load.count.Snapshot;
import dunlin.load.engine.Moment;
import dunlin.load.engine.Phase;
import dunlin.load.engine.Point;
import dunlin.load.engine.Result;
import dunlin.load.engine.WorkerState;
import dunlin.load.plan.Plan;
import java.util.List;
import java.util.Map;

/** The data of the live page, each as JSON on one line. */
public final class LiveReport {
  /** The result of a run that failed. */
  public static final String FAILED = "{\"failed\": true}";

  /** The number of reasons shown. */
  static final int TROUBLES_MAX = 200;

  private LiveReport() {}

  /**
   * The data that is known before the run begins.
   *
   * @param run distinguishes it from other runs
   */
  public static String about(String run, Plan plan) {
    return JsonWriter.line(ordered("run", run, "name", plan.name(), "clients", plan.clients(), "phases", plan.steps().size()));
  }

  /** Seconds as rows for the plots. */
  public static String points(List<Point> points) {
    return JsonWriter.line(points.stream().map(LiveReport::row).toList());
  }

  private static List<Object> row(Point point) {
    return List.of(
        point.second(), point.connected(), point.connects(), point.published(), point.received(), point.errors(),
        point.p50(), point.p90(), point.p99(), point.max());
  }

  /** The current step and counts of a run; replaces the previous state. */
  public static String state(Phase phase, Moment moment) {
    Snapshot counted = moment.counted();
    List<Facts.Numbered> troubles = Facts.troubles(counted);
    return JsonWriter.line(
        ordered(
            "phase", phase(phase),
            "published", published(counted),
            "received", received(counted),
            "outstanding", Math.max(0, counted.get(Count.DUE) - received(counted) + duplicated(counted)),
            "duplicated", duplicated(counted),
            "outOfOrder", counted.sum(Count.OUT_OF_ORDER_0, Count.OUT_OF_ORDER_1, Count.OUT_OF_ORDER_2),
            "troubles", JsonReport.numbered(troubles.subList(0, Math.min(troubles.size(), TROUBLES_MAX))),
            "workers", moment.workers().stream().map(LiveReport::worker).toList()));
  }

  private static Map<String, Object> phase(Phase phase) {
    var map = ordered("name", phase.name(), "number", phase.number(), "of", phase.of(), "seconds", phase.seconds());
    if (Double.isFinite(phase.secondsMax())) map.put("secondsMax", phase.secondsMax());
    return map;
  }

  private static Map<String, Object> worker(WorkerState worker) {
    Snapshot counted = worker.counted();
    String state = worker.lost().map(why -> "lost: " + why).orElse(worker.busy() ? "busy" : "waits for the others");
    return ordered(
        "name", worker.name(),
        "share", worker.share(),
        "state", state,
        "isLost", worker.lost().isPresent(),
        "connected", counted.get(Count.CONNECTED) - counted.get(Count.CONNECTIONS_ENDED),
        "published", published(counted),
        "received", received(counted));
  }

  private static long published(Snapshot counted) {
    return counted.sum(Count.PUBLISHED_0, Count.PUBLISHED_1, Count.PUBLISHED_2);
  }

  private static long received(Snapshot counted) {
    return counted.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2);
  }

  private static long duplicated(Snapshot counted) {
    return counted.sum(Count.DUPLICATED_0, Count.DUPLICATED_1, Count.DUPLICATED_2);
  }

  /** The result with its tables, without the data of plots. */
  public static String end(Result result) {
    return JsonWriter.line(JsonReport.summary(result));
  }
}
