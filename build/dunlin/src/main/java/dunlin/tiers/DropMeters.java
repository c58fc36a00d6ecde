package dunlin.tiers;

import dunlin.runtime.DropReason;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** Counts the messages of QoS 0 that this node drops on their way to other processes, beside what a frontend drops. */
final class DropMeters implements AutoCloseable {
  private final MeterRegistry registry;
  private final List<Meter> registered = new ArrayList<>();
  private final UnacknowledgedDrops lanes;
  private final UnacknowledgedDrops deliveries;
  private final UnacknowledgedDrops pushes;

  /** @param tracer notes what is dropped in the traces that follow it */
  DropMeters(MeterRegistry registry, Tracer tracer) {
    this.registry = registry;
    lanes = counted("lane", tracer);
    deliveries = counted("delivery", tracer);
    pushes = counted("push", tracer);
  }

  private UnacknowledgedDrops counted(String hop, Tracer tracer) {
    var drops = new UnacknowledgedDrops(hop, tracer);
    register(hop, DropReason.OVERLOADED, drops, UnacknowledgedDrops::overloaded);
    register(hop, DropReason.UNREACHABLE, drops, UnacknowledgedDrops::unreachable);
    return drops;
  }

  private void register(String hop, DropReason reason, UnacknowledgedDrops drops, ToDoubleFunction<UnacknowledgedDrops> of) {
    registered.add(
        FunctionCounter.builder("dunlin.messages.dropped", drops, of)
            .description("Messages that a hop has dropped, by reason")
            .tag("hop", hop)
            .tag("reason", reason.tag())
            .register(registry));
  }

  /** From a frontend to the leader of the routes: one for each message. */
  UnacknowledgedDrops lanes() {
    return lanes;
  }

  /** From the leader of the routes to frontends and inbox shards: one for each destination. */
  UnacknowledgedDrops deliveries() {
    return deliveries;
  }

  /** From the leader of the sessions to the frontends of connected durable sessions: one for each session. */
  UnacknowledgedDrops pushes() {
    return pushes;
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }
}
