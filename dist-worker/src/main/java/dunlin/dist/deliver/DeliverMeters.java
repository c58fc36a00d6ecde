package dunlin.dist.deliver;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** What waits for workers, and what they were given. Any thread counts; the meters are registered until this is closed. */
final class DeliverMeters implements AutoCloseable {
  private final MeterRegistry registry;
  private final LongAdder copies = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder handed = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder lost = new LongAdder();
  private final List<Meter> registered;

  DeliverMeters(MeterRegistry registry) {
    this.registry = registry;
    registered =
        List.of(
            gauge("dunlin.dist.deliver.waiting", copies, "messages", "Copies of messages for single destinations that wait for a worker"),
            gauge("dunlin.dist.deliver.size", bytes, "bytes", "Size of the copies that wait for a worker; copies of a message are one object, but count once for each destination"),
            counter("dunlin.dist.deliver.handed", handed, "Copies that were passed to a worker, not served on the lane's thread"),
            counter("dunlin.dist.deliver.refused", refused, "Copies that were refused because too many waited for their destination"),
            counter("dunlin.dist.deliver.lost", lost, "Copies of QoS 0, or without an acknowledgement, that were refused, that a destination has failed to take, or that waited when it was closed"));
  }

  private Meter gauge(String name, LongAdder of, String unit, String description) {
    return Gauge.builder(name, of, LongAdder::sum).baseUnit(unit).description(description).register(registry);
  }

  private Meter counter(String name, LongAdder of, String description) {
    return FunctionCounter.builder(name, of, LongAdder::sum).description(description).register(registry);
  }

  void handed(int size) {
    copies.increment();
    bytes.add(size);
    handed.increment();
  }

  void served(int count, long size) {
    copies.add(-count);
    bytes.add(-size);
  }

  void refused() {
    refused.increment();
  }

  void lost() {
    lost.increment();
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }
}
