package dunlin.dist.deliver;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.util.List;

/**
 * How the leader of routes in a cluster shares the work of delivering.
 *
 * @param inlineThreshold destinations of a message up to which its lane's thread serves them
 * @param workers threads beside those of the lanes; with fewer than two, the lanes serve all destinations
 */
public record DeliverSettings(int inlineThreshold, int workers) {
  private static final int WORKERS_MOST = 64;
  private static final int DEFAULT_WORKERS_MOST = 16;

  static final Setting<Integer> INLINE_THRESHOLD =
      Setting.integer(
          "dunlin.dist.inline-fanout-threshold", 16, 0, 1_000_000,
          "Maximum number of destinations of a message that the thread of its lane serves in a cluster. A destination is a frontend, its embedding"
              + " application, or the durable sessions. A message with more is shared among the threads of dunlin.dist.deliver-workers. A broker that runs"
              + " alone does not use it.");
  static final Setting<Integer> WORKERS =
      Setting.integer(
              "dunlin.dist.deliver-workers", Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 0, DEFAULT_WORKERS_MOST), 0, WORKERS_MOST,
              "Number of threads that deliver messages with many destinations in a cluster, on the node that leads the routes. With 0 or 1, the threads of"
                  + " the lanes serve all destinations. A broker that runs alone does not use it.")
          .defaultMeans("half the number of cores, at most 16");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(INLINE_THRESHOLD, WORKERS);

  public DeliverSettings {
    if (inlineThreshold < 0) throw new IllegalArgumentException("inlineThreshold " + inlineThreshold);
    if (workers < 0 || workers > WORKERS_MOST) throw new IllegalArgumentException(workers + " workers");
  }

  public static DeliverSettings from(Settings settings) {
    return new DeliverSettings(settings.get(INLINE_THRESHOLD), settings.get(WORKERS));
  }
}
