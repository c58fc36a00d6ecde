package dunlin.admin.doctor;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Measurement;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Statistic;
import io.micrometer.core.instrument.Tag;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What the meters of a node show at this moment. */
public record NodeMeters(MeterRegistry registry) {
  /** What gauges show, by a tag; those that have no number now are left out. */
  public SortedMap<String, Double> gauges(String name, String tag) {
    SortedMap<String, Double> values = new TreeMap<>();
    for (Gauge gauge : registry.find(name).gauges()) {
      double value = gauge.value();
      if (Double.isFinite(value)) values.put(Objects.requireNonNullElse(gauge.getId().getTag(tag), ""), value);
    }
    return values;
  }

  /** What counters have counted since the start, by their names and tags. Files that were read again as they should be do not count. */
  SortedMap<String, Long> counts(Collection<String> names) {
    SortedMap<String, Long> counts = new TreeMap<>();
    for (String name : names) {
      for (Meter meter : registry.find(name).meters()) {
        if ("ok".equals(meter.getId().getTag("result"))) continue;
        for (Measurement each : meter.measure()) {
          if (each.getStatistic() == Statistic.COUNT) counts.merge(text(meter.getId()), (long) each.getValue(), Long::sum);
        }
      }
    }
    return counts;
  }

  private static String text(Meter.Id id) {
    List<Tag> tags = id.getTags();
    return tags.isEmpty() ? id.getName() : id.getName() + tags.stream().map(tag -> tag.getKey() + "=" + tag.getValue()).collect(Collectors.joining(",", "{", "}"));
  }
}
