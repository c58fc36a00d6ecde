package dunlin.runtime.metrics;

import com.codahale.metrics.jmx.JmxReporter;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.core.instrument.dropwizard.DropwizardConfig;
import io.micrometer.core.instrument.dropwizard.DropwizardMeterRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Meters as beans of Dropwizard's reporter, until it is closed.
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
    reporter = JmxReporter.forRegistry(shown).inDomain("dunlin").createsObjectNamesWith(names).build();
    reporter.start();
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
