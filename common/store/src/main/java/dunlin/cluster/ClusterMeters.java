package dunlin.cluster;

import dunlin.placement.ClusterMap;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The meters of a node as a member of its cluster. */
final class ClusterMeters implements AutoCloseable {
  private final MeterRegistry registry;
  private final List<Meter> registered = new ArrayList<>();
  private final Counter callsRefused;
  private final Counter beatsLost;
  private final Counter actionsDone;
  private final Counter actionsFailed;
  private final Counter actionsPutOff;

  ClusterMeters(MeterRegistry registry) {
    this.registry = registry;
    callsRefused =
        counter(
            "dunlin.cluster.calls.refused",
            "Calls of other nodes refused: too many at a time, or in the name of another node than the certificate's");
    beatsLost = counter("dunlin.cluster.heartbeats.lost", "Heartbeats that did not reach a leader of the meta group");
    actionsDone = counter("dunlin.cluster.actions.done", "Actions that nodes have carried out; counted on the meta group's leader");
    actionsFailed = counter("dunlin.cluster.actions.failed", "Actions that did nothing or whose outcome is unknown; counted on the meta group's leader");
    actionsPutOff = counter("dunlin.cluster.actions.put-off", "Actions put off because too many were running; counted on the meta group's leader");
  }

  /**
   * What this node knows of its cluster.
   *
   * @param replicas how many each range should have
   */
  void gauges(Cluster of, KnownMap known, int replicas) {
    gauge(
        "dunlin.cluster.connected", "1 while heartbeats come to a leader of the meta group", of,
        member -> member.connected() ? 1 : 0);
    gauge(
        "dunlin.cluster.map.version", "The newest map of the cluster that this node has heard of", known,
        newest -> newest.map().version());
    gauge(
        "dunlin.cluster.ranges.indivisible", "Ranges past a limit that cannot be split, on the meta group's leader", of,
        member -> member.indivisible().size());
    gauge(
        "dunlin.cluster.nodes", "Nodes of the cluster that are up, by the newest map that this node has heard of", known,
        newest -> newest.map().nodes().values().stream().filter(each -> each.state().up()).count());
    gauge(
        "dunlin.cluster.replicas.missing", "Replicas that are missing from the number in dunlin.cluster.replicas, over all ranges, by the newest map that this node has received", known,
        newest -> missing(newest.map(), replicas));
    gauge(
        "dunlin.cluster.nodes.unreached", "Other nodes of the cluster that this one has called for half of dunlin.cluster.lease without an answer", of,
        member -> member.unreached().size());
  }

  <T> void gauge(String name, String description, T source, ToDoubleFunction<T> value) {
    register(Gauge.builder(name, source, value).description(description).register(registry));
  }

  void callRefused() {
    callsRefused.increment();
  }

  void beatLost() {
    beatsLost.increment();
  }

  void action(boolean done) {
    (done ? actionsDone : actionsFailed).increment();
  }

  void actionPutOff() {
    actionsPutOff.increment();
  }

  /** How many voters the ranges of a map have too few. */
  static long missing(ClusterMap map, int wanted) {
    return map.ranges().values().stream().mapToLong(placed -> Math.max(0, wanted - placed.range().peers().size())).sum();
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }

  private Counter counter(String name, String description) {
    return register(Counter.builder(name).description(description).register(registry));
  }

  private <M extends Meter> M register(M meter) {
    registered.add(meter);
    return meter;
  }
}
