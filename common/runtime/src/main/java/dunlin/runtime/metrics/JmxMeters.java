package dunlin.runtime.metrics;

import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import com.google.errorprone.annotations.concurrent.GuardedBy;

/**
 * The meters of a node that are registered in JMX, until it is closed. Meters may be added by any thread at any time,
 * such as by the JVM's after a garbage collection; one that is added while the beans are removed would leave its bean
 * for ever.
 */
final class JmxMeters extends MetricRegistry implements AutoCloseable {
  @GuardedBy("this")
  private boolean closed;

  /** Registers a meter. After {@link #close} it does nothing, without an error, since the owner of the meter may keep counting. */
  @Override
  public synchronized <T extends Metric> T register(String name, T metric) {
    return closed ? metric : super.register(name, metric);
  }

  /** Returns when no registration is in progress; after that the beans can be removed. */
  @Override
  public synchronized void close() {
    closed = true;
  }
}
