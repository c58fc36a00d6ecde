package dunlin.runtime.metrics;

import java.util.Map;

/** A histogram of durations in JMX: {@code dunlin:type=Latency,node=<id>,name=<meter>}. */
@Description("Statistics of durations; /metrics has the same as a histogram")
public interface LatencyHistogramMXBean {
  @Description("Number of measurements since the start")
  @Unit("measurements")
  long getCount();

  @Description("The mean since the start")
  @Unit("milliseconds")
  double getMeanMillis();

  @Description("Number of measurements up to each bound in milliseconds")
  Map<Long, Long> getAtMostMillis();
}
