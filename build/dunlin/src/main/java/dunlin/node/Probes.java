package dunlin.node;

import dunlin.store.RangeProgress;
import dunlin.store.raft.RangeStore;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Health and readiness of a node, for an orchestrator: whether to restart it, and whether to send it clients. */
final class Probes {
  /*
   * Owner: any thread. Nothing here waits for Ratis, RocksDB or a tier, or the answer would be late just when it
   * matters.
   */
  private final Readiness readiness;
  private final Supplier<String> start;
  private final BooleanSupplier stalled;
  private final Optional<RangeStore> store;
  private final Duration commandAgeMax;
  private final BooleanSupplier draining;
  private final Supplier<Optional<String>> unserved;
  private final Supplier<List<String>> remarks;

  /**
   * @param start the progress of the start, as text
   * @param stalled whether the start has failed because there was no progress
   * @param store empty for a node without replicas
   * @param unserved why the cluster cannot serve, which depends on other nodes
   * @param remarks what is wrong elsewhere and no reason to send clients to another node
   * @param commandAgeMax how long a command may wait for a range before the node is not ready
   */
  Probes(
      Readiness readiness,
      Supplier<String> start,
      BooleanSupplier stalled,
      Optional<RangeStore> store,
      Duration commandAgeMax,
      BooleanSupplier draining,
      Supplier<Optional<String>> unserved,
      Supplier<List<String>> remarks) {
    this.readiness = readiness;
    this.start = start;
    this.stalled = stalled;
    this.store = store;
    this.commandAgeMax = commandAgeMax;
    this.draining = draining;
    this.unserved = unserved;
    this.remarks = remarks;
  }

  /** Why the node should be restarted; empty while it serves or its start makes progress. */
  Optional<String> unhealthy() {
    if (stalled.getAsBoolean()) return Optional.of("the start has stalled: " + start.get());
    return readiness.failure().map(why -> "failed: " + why.getMessage());
  }

  /** Why the node is not ready for new clients; empty when it is. */
  Optional<String> unready() {
    var failure = readiness.failure();
    if (failure.isPresent()) return Optional.of("failed: " + failure.get().getMessage());
    if (readiness.isClosed()) return Optional.of("stopping");
    if (!readiness.ready()) return Optional.of("starting: " + start.get());
    if (draining.getAsBoolean()) return Optional.of("draining");
    var others = unserved.get();
    if (others.isPresent()) return others;
    if (store.isEmpty()) return Optional.empty();
    if (store.get().diskLow()) return Optional.of("disk low: nothing new is stored (dunlin.store.disk-free-min)");
    return store.get().progress().stream()
        .filter(range -> range.oldest().compareTo(commandAgeMax) > 0)
        .max(Comparator.comparing(RangeProgress::oldest))
        .map(Probes::behind);
  }

  /** What a node that is ready says of itself, and of its cluster. */
  String ready() {
    return String.join("\n", Stream.concat(Stream.of("ready"), remarks.get().stream()).toList());
  }

  private static String behind(RangeProgress range) {
    return String.format(
        Locale.ROOT,
        "%s: applying is behind, the oldest command has waited for %.1f s; %,d entries are committed and not applied, %,d commands are queued",
        range.range(), range.oldest().toMillis() / 1000.0, range.entriesLeft(), range.waiting());
  }
}
