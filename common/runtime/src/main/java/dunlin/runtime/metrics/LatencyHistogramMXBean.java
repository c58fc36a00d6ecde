package dunlin.runtime.metrics;

import java.util.Map;

/** How long something took, as JMX tools see it: {@code dunlin:type=Latency,node=<id>,name=<meter>}. */
@Description("How long something took, by number; /metrics has the same as a histogram")
public interface LatencyHistogramMXBean {
  @Description("How many were measured since the start")
  long getCount();

  @Description("The mean since the start, in milliseconds")
  double getMeanMillis();

  @Description("How many took at most so many milliseconds")
  Map<Long, Long> getAtMostMillis();
}
