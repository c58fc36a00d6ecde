package dunlin.runtime.metrics;

import com.codahale.metrics.jmx.JmxReporter;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.core.instrument.dropwizard.DropwizardConfig;
import io.micrometer.core.instrument.dropwizard.DropwizardMeterRegistry;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Optional;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/**
 * Meters as beans of Dropwizard's reporter, until it is closed.
 *
 * <p>That reporter registers beans without descriptions, at a server that may be given to it: the one that it gets wraps each in a {@link DescribedMeter}.
 *
 * <p>Micrometer's own JMX registry is not released with every version of Micrometer: an application whose framework
 * chooses Micrometer's version, such as Spring Boot, could not be built with it.
 */
final class JmxRegistry extends DropwizardMeterRegistry {
  private static final DropwizardConfig CONFIG =
      new DropwizardConfig() {
        @Override
        public String prefix() {
          return "jmx";
        }

        @Override
        public @Nullable String get(String key) {
          return null; // the default for all settings
        }
      };

  /** A timer is a bean with its percentiles. Buckets are for Prometheus: each would be a bean of its own. */
  private static final MeterFilter WITHOUT_BUCKETS =
      new MeterFilter() {
        @Override
        public DistributionStatisticConfig configure(Meter.Id id, DistributionStatisticConfig config) {
          return DistributionStatisticConfig.DEFAULT;
        }
      };

  private final JmxReporter reporter;

  JmxRegistry(JmxNames names, JmxMeters shown) {
    super(CONFIG, shown, names, Clock.SYSTEM);
    config().meterFilter(WITHOUT_BUCKETS);
    reporter =
        JmxReporter.forRegistry(shown)
            .inDomain(JmxNames.DOMAIN)
            .createsObjectNamesWith(names)
            .registerWith(describing(ManagementFactory.getPlatformMBeanServer(), names))
            .build();
    reporter.start();
  }

  /** The server, but that the beans of meters which are registered there are described. */
  private static MBeanServer describing(MBeanServer server, JmxNames names) {
    InvocationHandler handler =
        (_, method, arguments) -> {
          try {
            if (method.getName().equals("registerMBean") && arguments[1] instanceof ObjectName name) {
              Optional<Meter.Id> meter = names.meter(name);
              return server.registerMBean(meter.isPresent() ? DescribedMeter.of(arguments[0], meter.get()) : arguments[0], name);
            }
            if (method.getName().equals("unregisterMBean") && arguments[0] instanceof ObjectName name) names.forget(name);
            return method.invoke(server, arguments);
          } catch (InvocationTargetException failure) {
            throw failure.getTargetException();
          }
        };
    return (MBeanServer) Proxy.newProxyInstance(MBeanServer.class.getClassLoader(), new Class<?>[] {MBeanServer.class}, handler);
  }

  @Override
  protected Double nullGaugeValue() {
    return Double.NaN;
  }

  @Override
  public void close() {
    reporter.stop();
    super.close();
  }
}
