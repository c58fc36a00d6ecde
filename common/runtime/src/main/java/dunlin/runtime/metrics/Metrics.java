package dunlin.runtime.metrics;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.Exemplars;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.PrometheusNaming;
import java.lang.management.ManagementFactory;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The meters of one node: visible by JMX in the domain {@code dunlin} and as Prometheus text, each with the tag {@code
 * node}. Nodes in one JVM share nothing; closing one removes only its own meters from JMX.
 */
public final class Metrics implements AutoCloseable {
  /*
   * Owner: the node's composition opens and closes it, on one thread; any thread may use the registry.
   * Bounds: the meters that features register; their tags come from closed sets, never from clients.
   * Failure: without an MBean server the node runs with Prometheus only.
   */
  private final CompositeMeterRegistry registry = new CompositeMeterRegistry();
  private final PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final JmxMeters shown = new JmxMeters();
  private final String node;
  private final NodeBeans beans;

  private @Nullable JvmGcMetrics garbageCollection; // listens to the garbage collectors until it is closed

  private Metrics(String node) {
    this.node = node;
    beans = new NodeBeans(node);
    add(prometheus, node);
    if (beans.available()) add(new JmxRegistry(new JmxNames(node), shown), node);
  }

  /** Each part has the tag itself: an application that adds our registry to another composite reaches the parts directly. */
  private void add(MeterRegistry part, String node) {
    part.config().commonTags("node", node);
    registry.add(part);
  }

  /**
   * Starts to create the JVM's MBean server, on a thread of its own. That takes 100 ms or more, most of the cost of
   * {@link #open}, so a launcher calls this first and reads its settings in parallel.
   */
  public static void warmUp() {
    Thread.ofPlatform().name("dunlin-jmx").daemon().start(ManagementFactory::getPlatformMBeanServer);
  }

  /**
   * Opens the registries.
   *
   * @param node distinguishes this node's meters and MXBeans from those of other nodes
   */
  public static Metrics open(String node) {
    return new Metrics(node);
  }

  /**
   * Adds meters of the whole process: memory, garbage collection, threads, processors, file descriptors, uptime. Only
   * for the launcher, since an embedded node does not own its process; called at most once.
   */
  public void bindProcess() {
    if (garbageCollection != null) throw new IllegalStateException("bound already");
    garbageCollection = new JvmGcMetrics();
    garbageCollection.bindTo(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new FileDescriptorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
  }

  /** Adds a meter that is always 1, with the release and the Java version as tags. */
  public void bindBuild(String version) {
    Gauge.builder("dunlin.build.info", () -> 1)
        .description("Always 1; its labels are the release of Dunlin and the Java version")
        .tag("version", version)
        .tag("java", Runtime.version().toString())
        .register(registry);
  }

  /** Adds the wall clock of the node: compared with the time of the scrape, it tells a clock that is wrong. */
  public void bindClock(InstantSource clock) {
    TimeGauge.builder("dunlin.clock.time", clock, TimeUnit.MILLISECONDS, InstantSource::millis)
        .description("Time by the node's clock, in seconds since 1970")
        .register(registry);
  }

  /** Adds a gauge that is 1 while the node is ready for new clients, as {@code /ready} answers. */
  public void bindReady(BooleanSupplier ready) {
    Gauge.builder("dunlin.ready", () -> ready.getAsBoolean() ? 1 : 0)
        .description("1 while /ready answers 200, which means that clients should be sent to this node")
        .register(registry);
  }

  /** Exports a histogram to Prometheus and JMX. Micrometer's own histograms would read a clock, and count with a locked instruction. */
  public void show(LatencyHistogram histogram) {
    String family = PrometheusNaming.sanitizeMetricName(histogram.name().replace('.', '_') + "_seconds");
    MetricMetadata about = new MetricMetadata(family, histogram.help());
    Labels labels = Labels.of("node", node);
    double[] bounds = LatencyHistogram.boundsSeconds();
    prometheus
        .getPrometheusRegistry()
        .register(
            () -> {
              var buckets = ClassicHistogramBuckets.of(bounds, histogram.counts());
              var point = new HistogramDataPointSnapshot(buckets, histogram.sumMillis() / 1_000.0, labels, Exemplars.EMPTY, 0);
              return new HistogramSnapshot(about, List.of(point));
            });
    beans.register("Latency", Map.of("name", histogram.name()), histogram);
  }

  /** The registry for the features' meters. */
  public MeterRegistry registry() {
    return registry;
  }

  /** The registry for the features' MXBeans. */
  public NodeBeans beans() {
    return beans;
  }

  /** All meters in the Prometheus text format, version 0.0.4. */
  public String scrape() {
    return prometheus.scrape();
  }

  @Override
  public void close() {
    beans.close();
    if (garbageCollection != null) garbageCollection.close();
    shown.close();
    registry.close(); // closes its two parts, and removes the beans
  }
}
