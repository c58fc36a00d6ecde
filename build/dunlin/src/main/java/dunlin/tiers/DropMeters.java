package dunlin.tiers;

import dunlin.runtime.DropReason;
import dunlin.transport.lane.LinkAccount;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/** Counts the messages of this node on their way to other processes, and those of QoS 0 that it drops there, beside what a frontend counts. */
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
    account("lane", lanes);
    account("delivery", deliveries);
    pushes = counted("push", tracer);
  }

  private UnacknowledgedDrops counted(String hop, Tracer tracer) {
    var drops = new UnacknowledgedDrops(hop, tracer);
    register(hop, DropReason.OVERLOADED, drops, UnacknowledgedDrops::overloaded);
    register(hop, DropReason.UNREACHABLE, drops, UnacknowledgedDrops::unreachable);
    return drops;
  }

  /** As a frontend's ledgers have it. */
  private void account(String hop, UnacknowledgedDrops drops) {
    account("dunlin.messages.received", hop, "Messages that a hop has received", drops, LinkAccount::received);
    account("dunlin.messages.delivered", hop, "Messages that a hop has delivered", drops, LinkAccount::delivered);
    account("dunlin.messages.returned", hop, "Messages that a hop has returned to where they came from", drops, LinkAccount::returned);
    registered.add(
        Gauge.builder("dunlin.messages.in-flight", drops, each -> each.account().inFlight()).description("Messages that a hop holds").tag("hop", hop).register(registry));
  }

  private void account(String name, String hop, String description, UnacknowledgedDrops drops, ToLongFunction<LinkAccount> of) {
    registered.add(FunctionCounter.builder(name, drops, each -> of.applyAsLong(each.account())).description(description).tag("hop", hop).register(registry));
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
