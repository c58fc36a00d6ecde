package dunlin.runtime;

import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Settings of each type, as a feature declares them. */
public final class TestSettings {
  public enum WhenFull {
    DROP_OLDEST,
    DROP_NEWEST,
    REJECT
  }

  public static final Setting<Path> DATA_DIR = Setting.path("dunlin.data-dir", Path.of("./data"), "Where the data is.");
  public static final Setting<String> HOST =
      Setting.text("dunlin.listeners.tcp.host", "127.0.0.1", "The address of the plain listener.");
  public static final Setting<Integer> PORT =
      Setting.integer("dunlin.listeners.tcp.port", 1883, 0, 65_535, "The port of the plain listener; 0 takes any.");
  public static final Setting<Long> QUEUE = Setting.longInteger("dunlin.inbox.queue-max", 1_000, 1, 1L << 40, "The bound.");
  public static final Setting<Boolean> FSYNC = Setting.flag("dunlin.store.fsync", true, "Whether the log is synced.");
  public static final Setting<Duration> WAIT =
      Setting.duration(
          "dunlin.shared.wait", Duration.ofSeconds(5), Duration.ZERO, Duration.ofHours(1), "How long to wait.");
  public static final Setting<Long> PACKET =
      Setting.bytes("dunlin.packet-max", 1 << 20, 128, 256L << 20, "The largest packet.");
  public static final Setting<WhenFull> WHEN_FULL =
      Setting.choice("dunlin.inbox.when-full", WhenFull.DROP_OLDEST, "What gives way.");
  public static final Setting<List<String>> SEEDS = Setting.textList("dunlin.cluster.seeds", List.of(), "Other nodes.");
  public static final Setting<Set<WhenFull>> ROLES =
      Setting.choices("dunlin.roles", WhenFull.class, EnumSet.allOf(WhenFull.class), "What runs here.");
  public static final Setting<Secret> SECRET = Setting.secret("dunlin.cluster.secret", "What nodes share.");
  public static final Setting<Integer> LANES =
      Setting.integer("dunlin.lanes", Runtime.getRuntime().availableProcessors(), 1, 1_024, "How many lanes.")
          .defaultMeans("the number of processors");

  public static final List<Setting<?>> ALL =
      List.of(
          DATA_DIR, HOST, PORT, QUEUE, FSYNC, WAIT, PACKET, WHEN_FULL, SEEDS, ROLES, SECRET, LANES);

  private TestSettings() {}
}
