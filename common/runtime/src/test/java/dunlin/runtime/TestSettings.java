package dunlin.runtime;

import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Settings as a feature declares them, one of each type. */
final class TestSettings {
  enum WhenFull {
    DROP_OLDEST,
    DROP_NEWEST,
    REJECT
  }

  static final Setting<Path> DATA_DIR = Setting.path("dunlin.data-dir", Path.of("./data"), "Where the data is.");
  static final Setting<String> HOST =
      Setting.text("dunlin.listeners.tcp.host", "127.0.0.1", "The address of the plain listener.");
  static final Setting<Integer> PORT =
      Setting.integer("dunlin.listeners.tcp.port", 1883, 0, 65_535, "The port of the plain listener; 0 takes any.");
  static final Setting<Long> QUEUE = Setting.longInteger("dunlin.inbox.queue-max", 1_000, 1, 1L << 40, "The bound.");
  static final Setting<Boolean> FSYNC = Setting.flag("dunlin.store.fsync", true, "Whether the log is synced.");
  static final Setting<Duration> WAIT =
      Setting.duration(
          "dunlin.shared.wait", Duration.ofSeconds(5), Duration.ZERO, Duration.ofHours(1), "How long to wait.");
  static final Setting<Long> PACKET =
      Setting.bytes("dunlin.packet-max", 1 << 20, 128, 256L << 20, "The largest packet.");
  static final Setting<WhenFull> WHEN_FULL =
      Setting.choice("dunlin.inbox.when-full", WhenFull.DROP_OLDEST, "What gives way.");
  static final Setting<List<String>> SEEDS = Setting.textList("dunlin.cluster.seeds", List.of(), "Other nodes.");
  static final Setting<Set<WhenFull>> ROLES =
      Setting.choices("dunlin.roles", WhenFull.class, EnumSet.allOf(WhenFull.class), "What runs here.");
  static final Setting<String> SECRET = Setting.text("dunlin.cluster.secret", "", "What nodes share.").secret();
  static final Setting<Integer> LANES =
      Setting.integer("dunlin.lanes", Runtime.getRuntime().availableProcessors(), 1, 1_024, "How many lanes.")
          .defaultMeans("the number of processors");

  static final List<Setting<?>> ALL =
      List.of(
          DATA_DIR, HOST, PORT, QUEUE, FSYNC, WAIT, PACKET, WHEN_FULL, SEEDS, ROLES, SECRET, LANES);

  private TestSettings() {}
}
