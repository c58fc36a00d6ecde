package dunlin.broker.meter;

import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.LatencyHistogram;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The meters of a frontend, over all its event loops. */
public final class FrontendMeters implements AutoCloseable {
  /*
   * Owner: any thread. Each event loop has its own counts of frequent events: newCounts(), Traffic.Local.
   * Bounds: a meter for each reason code that connections are closed with, and the bounds of the parts.
   */
  private static final Logger log = LoggerFactory.getLogger(FrontendMeters.class);

  private final MeterRegistry registry;
  private final DropEvents dropEvents;
  private final Tracer tracer;
  private final HopLedger publishes;
  private final HopLedger copies;
  private final LatencyHistogram acknowledging =
      new LatencyHistogram(
          "dunlin.publish.acknowledge", "From a PUBLISH of QoS 1 or 2 to its PUBACK or PUBREC without an error, to the millisecond");
  private final LatencyHistogram delivering =
      new LatencyHistogram(
          "dunlin.publish.delivery",
          "From a PUBLISH until it is written for a subscriber, to the millisecond; without repetitions and messages with the flag RETAIN");

  private final Traffic traffic;
  private final Violations violations;
  private final Denials denials;
  private final RetainAccount retained = new RetainAccount();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger behindRetained = new AtomicInteger();
  private final Counter connectionsOpened;
  private final Counter storeFailures;
  private final Counter disconnectReportsRefused;
  private final Counter disconnectsUnsettled;
  private final Counter pushesUndeliverable;
  private final Counter unexpected;

  /**
   * @param node the node's id
   * @param publishesWaiting number of unanswered publishes of all loops
   * @param copiesWaiting number of messages that wait for their sessions, of all loops
   */
  public FrontendMeters(
      String node, MeterRegistry registry, DropEvents dropEvents, Tracer tracer, LongSupplier publishesWaiting, LongSupplier copiesWaiting) {
    this.registry = registry;
    this.dropEvents = dropEvents;
    this.tracer = tracer;
    publishes = new HopLedger(registry, "publish", publishesWaiting);
    copies = new HopLedger(registry, "session", copiesWaiting);
    traffic = new Traffic(registry);
    violations = new Violations(node, registry, System::nanoTime);
    denials = new Denials(node, registry, System::nanoTime);
    storeFailures = counter("dunlin.frontend.store-failures", "Requests of clients that failed because a store failed");
    disconnectReportsRefused =
        counter("dunlin.frontend.disconnect-reports-refused", "Times that the session tier could not record the end of a connection; the call is repeated");
    disconnectsUnsettled =
        counter(
            "dunlin.frontend.disconnects-unsettled",
            "Connections whose end was reported to the session tier before all their publishes were answered; 0 unless an answer is lost or very late");
    pushesUndeliverable = counter("dunlin.frontend.pushes-undeliverable", "Pushed messages for connections that no longer exist");
    connectionsOpened = counter("dunlin.connections.opened", "Client connections opened since the start");
    unexpected = counter("dunlin.frontend.unexpected", "Failures that only a bug in Dunlin can cause; each is logged");
    Gauge.builder("dunlin.publish.behind-retained", behindRetained, AtomicInteger::get)
        .description("Messages in a cluster that wait until one of their publisher is stored as the retained message of its topic, including that one")
        .register(registry);
    Gauge.builder("dunlin.connections", connections, AtomicInteger::get).description("Open client connections").register(registry);
  }

  private Counter counter(String name, String description) {
    return Counter.builder(name).description(description).register(registry);
  }

  /** Messages from clients to the dist tier. */
  public HopLedger publishes() {
    return publishes;
  }

  /** Messages from this frontend to its sessions. */
  public HopLedger copies() {
    return copies;
  }

  /** The times until publishes are acknowledged and until messages are delivered. */
  public List<LatencyHistogram> latencies() {
    return List.of(acknowledging, delivering);
  }

  /** The traffic of all connections. */
  public Traffic traffic() {
    return traffic;
  }

  public Violations violations() {
    return violations;
  }

  /** Messages from this frontend to the retain tier. */
  public RetainAccount retained() {
    return retained;
  }

  /** What access rules have denied. */
  public Denials denials() {
    return denials;
  }

  /** Creates the counts of one event loop. */
  public LoopCounts newCounts() {
    return new LoopCounts(publishes, copies, dropEvents, tracer, acknowledging, delivering);
  }

  public void connectionOpened() {
    connections.incrementAndGet();
    connectionsOpened.increment();
  }

  public void connectionClosed() {
    connections.decrementAndGet();
  }

  /** Number of open connections. */
  public int connections() {
    return connections.get();
  }

  /** Number of connections opened since the start. */
  public long connectionsOpened() {
    return (long) connectionsOpened.count();
  }

  /** Counts a connection that the broker closes. */
  public void disconnected(ReasonCode reason) {
    Counter.builder("dunlin.frontend.disconnects")
        .description("Connections that the broker has closed, by reason code")
        .tag("reason", reason.label())
        .register(registry)
        .increment();
  }

  /** Counts and logs a failure that only a bug in Dunlin can cause. */
  public void unexpected(String what, Throwable cause) {
    unexpected.increment();
    log.error(what, cause);
  }

  /** Changes the number of messages in {@code RetainLine}s. */
  public void behindRetained(int change) {
    behindRetained.addAndGet(change);
  }

  /** Counts a client's request that failed because a store failed. */
  public void storeFailed() {
    storeFailures.increment();
  }

  /** Counts a connection whose end the session tier could not record. */
  public void disconnectReportRefused() {
    disconnectReportsRefused.increment();
  }

  /** Counts an ended connection whose unanswered publishes are no longer waited for. */
  public void leftUnsettled() {
    disconnectsUnsettled.increment();
  }

  /** Counts a push for a connection that no longer exists. */
  public void pushUndeliverable() {
    pushesUndeliverable.increment();
  }

  @Override
  public void close() {
    violations.flush();
    denials.flush();
    publishes.close();
    copies.close();
  }
}
