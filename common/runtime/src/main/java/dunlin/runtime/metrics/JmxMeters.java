package dunlin.runtime.metrics;

import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import com.google.errorprone.annotations.concurrent.GuardedBy;

/**
 * What of a node's meters JMX shows, until it is closed. Meters may come from any thread at any time, from the JVM's own after a collection
 * of garbage, too; one that is being shown while the beans are taken away would leave its bean behind for ever.
 */
final class JmxMeters extends MetricRegistry implements AutoCloseable {
  @GuardedBy("this")
  private boolean closed;

  /** Shows one more; after {@link #close} nothing, and no error either, since the owner of the meter may go on counting. */
  @Override
  public synchronized <T extends Metric> T register(String name, T metric) {
    return closed ? metric : super.register(name, metric);
  }

  /** Returns when nothing is being shown any more; from then on the beans can be taken away. */
  @Override
  public synchronized void close() {
    closed = true;
  }
}
