package dunlin.broker.meter;

import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.HopLedger;
import dunlin.runtime.metrics.LatencyHistogram;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a frontend counts, over all its event loops. */
public final class FrontendMeters implements AutoCloseable {
  /*
   * Owner: any thread. An event loop counts what is frequent by itself: newCounts(), Traffic.Local.
   * Bounds: a meter for each reason code that a connection is ended with, and what the parts say.
   */
  private static final Logger log = LoggerFactory.getLogger(FrontendMeters.class);

  private final MeterRegistry registry;
  private final DropEvents dropEvents;
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
  private final AtomicInteger connections = new AtomicInteger();
  private final Counter connectionsOpened;
  private final Counter storeFailures;
  private final Counter leavesRefused;
  private final Counter leavesUnsettled;
  private final Counter pushesAstray;
  private final Counter unexpected;

  /**
   * @param node its id
   * @param publishesWaiting publishes that are not answered, on all loops
   * @param copiesWaiting messages that wait for their sessions, on all loops
   */
  public FrontendMeters(String node, MeterRegistry registry, DropEvents dropEvents, LongSupplier publishesWaiting, LongSupplier copiesWaiting) {
    this.registry = registry;
    this.dropEvents = dropEvents;
    publishes = new HopLedger(registry, "publish", publishesWaiting);
    copies = new HopLedger(registry, "session", copiesWaiting);
    traffic = new Traffic(registry);
    violations = new Violations(node, registry, System::nanoTime);
    storeFailures = counter("dunlin.frontend.store-failures", "Requests of clients that failed because a store could not do them");
    leavesRefused =
        counter("dunlin.frontend.leaves-refused", "Times that the session tier could not record the end of a connection; it is asked again");
    leavesUnsettled =
        counter(
            "dunlin.frontend.leaves-unsettled",
            "Connections whose end was told to the session tier before all that they had published was answered; 0 unless an answer is lost or very late");
    pushesAstray = counter("dunlin.frontend.pushes-astray", "Messages that came for a connection that is not there any more");
    connectionsOpened = counter("dunlin.connections.opened", "Client connections opened since the start");
    unexpected = counter("dunlin.frontend.unexpected", "Failures that only a fault of Dunlin's own can cause; each is in the log");
    Gauge.builder("dunlin.connections", connections, AtomicInteger::get).description("Open client connections").register(registry);
  }

  private Counter counter(String name, String description) {
    return Counter.builder(name).description(description).register(registry);
  }

  /** What goes from clients to the dist tier. */
  public HopLedger publishes() {
    return publishes;
  }

  /** What goes from this frontend to its sessions. */
  public HopLedger copies() {
    return copies;
  }

  /** How long publishes take to be acknowledged, and messages to be delivered. */
  public List<LatencyHistogram> latencies() {
    return List.of(acknowledging, delivering);
  }

  /** What went over all connections. */
  public Traffic traffic() {
    return traffic;
  }

  public Violations violations() {
    return violations;
  }

  /** The counts of one more event loop. */
  public LoopCounts newCounts() {
    return new LoopCounts(publishes, copies, dropEvents, acknowledging, delivering);
  }

  public void connectionOpened() {
    connections.incrementAndGet();
    connectionsOpened.increment();
  }

  public void connectionClosed() {
    connections.decrementAndGet();
  }

  /** Connections that are open. */
  public int connections() {
    return connections.get();
  }

  /** Connections opened since the start. */
  public long connectionsOpened() {
    return (long) connectionsOpened.count();
  }

  /** The broker ends a connection. */
  public void disconnected(ReasonCode reason) {
    Counter.builder("dunlin.frontend.disconnects")
        .description("Connections that the broker has ended, by reason code")
        .tag("reason", reason.label())
        .register(registry)
        .increment();
  }

  /** Something that only a fault of Dunlin's own can cause. */
  public void unexpected(String what, Throwable cause) {
    unexpected.increment();
    log.error(what, cause);
  }

  /** A request of a client failed since a store could not do it. */
  public void storeFailed() {
    storeFailures.increment();
  }

  /** The session tier could not record the end of a connection. */
  public void leaveRefused() {
    leavesRefused.increment();
  }

  /** What came over a connection that has ended is waited for no longer. */
  public void leftUnsettled() {
    leavesUnsettled.increment();
  }

  /** A message came for a connection that is not there any more. */
  public void pushedAstray() {
    pushesAstray.increment();
  }

  @Override
  public void close() {
    violations.flush();
    publishes.close();
    copies.close();
  }
}
