package dunlin.tiers;

import dunlin.runtime.DropReason;
import dunlin.transport.lane.UnacknowledgedDrops;
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
  private final UnacknowledgedDrops lanes = new UnacknowledgedDrops();
  private final UnacknowledgedDrops deliveries = new UnacknowledgedDrops();
  private final UnacknowledgedDrops pushes = new UnacknowledgedDrops();

  DropMeters(MeterRegistry registry) {
    this.registry = registry;
    register("lane", lanes);
    register("delivery", deliveries);
    register("push", pushes);
  }

  private void register(String hop, UnacknowledgedDrops drops) {
    register(hop, DropReason.OVERLOADED, drops, UnacknowledgedDrops::overloaded);
    register(hop, DropReason.UNREACHABLE, drops, UnacknowledgedDrops::unreachable);
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
