package dunlin.store.raft;

import dunlin.store.RangeId;
import dunlin.store.Replica;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** The meters of one range, tagged with its name: its kind, for the first of it. */
final class RangeMeters implements AutoCloseable {
  /** The bounds of the histogram of commits: from a log in memory to a disk that is stuck. */
  private static final Duration[] COMMIT_BOUNDS =
      Stream.of(250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000)
          .map(micros -> Duration.of(micros, ChronoUnit.MICROS))
          .toArray(Duration[]::new);

  private final MeterRegistry registry;
  private final String range;
  private final List<Meter> registered = new ArrayList<>();
  private final Timer commit;
  private final Counter entries;
  private final Counter operations;
  private final Counter rejectedCommands;
  private final Counter rejectedCallers;
  private final Counter rejectedReads;
  private final Counter installedBytes;
  private final Counter stuckFollowers;

  RangeMeters(MeterRegistry registry, RangeId range) {
    this.registry = registry;
    this.range = range.toString();
    commit =
        register(
            Timer.builder("dunlin.store.commit")
                .description("Time from a command's proposal until it is durable, applied and readable")
                .tag("range", this.range)
                .serviceLevelObjectives(COMMIT_BOUNDS)
                .register(registry));
    entries = counter("dunlin.store.entries", "Log entries applied here that were proposed here");
    operations = counter("dunlin.store.operations", "Commands applied here that were proposed here");
    rejectedCommands = counter("dunlin.store.rejected", "Commands refused because the range's queue was full");
    rejectedCallers =
        counter("dunlin.store.callers.rejected", "Callers that could not wait for room in the range's queue because too many were waiting");
    installedBytes = counter("dunlin.store.install.bytes", "Bytes of snapshots fetched from other replicas because this one was behind");
    stuckFollowers = counter("dunlin.store.followers.stuck", "Times that a follower answered but took no log entry for a minute");
    rejectedReads = counter("dunlin.store.reads.rejected", "Reads refused because the readers' queue was full");
  }

  <T> void gauge(String name, String description, T source, ToDoubleFunction<T> value) {
    register(Gauge.builder(name, source, value).description(description).tag("range", range).register(registry));
  }

  /** @param value in seconds */
  <T> void seconds(String name, String description, T source, ToDoubleFunction<T> value) {
    register(Gauge.builder(name, source, value).description(description).baseUnit("seconds").tag("range", range).register(registry));
  }

  /** Registers the gauges of a replica's status. */
  void status(Replica<?, ?> replica) {
    gauge("dunlin.store.term", "The Raft term of the range", replica, range -> range.status().term());
    gauge(
        "dunlin.store.committed", "The last committed log entry", replica, range -> range.status().committed());
    gauge("dunlin.store.applied", "The last log entry that was applied", replica, range -> range.status().applied());
    gauge(
        "dunlin.store.apply.lag", "Committed entries that are not applied yet", replica, range -> range.status().applyLag());
    gauge(
        "dunlin.store.lag", "Entries that the furthest follower is behind its leader here", replica,
        range -> range.status().largestLag());
  }

  void committed(long nanos) {
    commit.record(nanos, TimeUnit.NANOSECONDS);
  }

  double commitMillis() {
    return commit.mean(TimeUnit.MILLISECONDS);
  }

  double commitMillisMax() {
    return commit.max(TimeUnit.MILLISECONDS);
  }

  void applied(int commands) {
    entries.increment();
    operations.increment(commands);
  }

  void commandRejected() {
    rejectedCommands.increment();
  }

  void callerRejected() {
    rejectedCallers.increment();
  }

  void installed(long bytes) {
    installedBytes.increment((double) bytes);
  }

  void followerStuck() {
    stuckFollowers.increment();
  }

  void readRejected() {
    rejectedReads.increment();
  }

  /** Removes the meters from the registry, which would otherwise keep a closed range alive. */
  @Override
  public void close() {
    registered.forEach(registry::remove);
  }

  private Counter counter(String name, String description) {
    return register(Counter.builder(name).description(description).tag("range", range).register(registry));
  }

  private <M extends Meter> M register(M meter) {
    registered.add(meter);
    return meter;
  }
}
