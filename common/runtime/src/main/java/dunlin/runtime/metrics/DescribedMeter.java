package dunlin.runtime.metrics;

import io.micrometer.core.instrument.Meter;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import javax.management.ImmutableDescriptor;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanOperationInfo;
import javax.management.NotCompliantMBeanException;
import javax.management.StandardMBean;

/** The bean of a meter with the description and the unit of the meter; the library's beans have neither. */
final class DescribedMeter extends StandardMBean {
  /*
   * Owner: any thread; only the wrapped bean has state.
   */
  private static final Map<String, String> PARTS =
      Map.ofEntries(
          Map.entry("Count", "how many"), Map.entry("MeanRate", "a second, since the start"), Map.entry("OneMinuteRate", "a second, in about the last minute"),
          Map.entry("FiveMinuteRate", "a second, in about the last five minutes"),
          Map.entry("FifteenMinuteRate", "a second, in about the last fifteen minutes"), Map.entry("Min", "the least"), Map.entry("Max", "the most"),
          Map.entry("Mean", "the mean"), Map.entry("StdDev", "the standard deviation"), Map.entry("50thPercentile", "half of them have at most this"),
          Map.entry("75thPercentile", "75 of 100 have at most this"), Map.entry("95thPercentile", "95 of 100 have at most this"),
          Map.entry("98thPercentile", "98 of 100 have at most this"), Map.entry("99thPercentile", "99 of 100 have at most this"),
          Map.entry("999thPercentile", "999 of 1,000 have at most this"), Map.entry("RateUnit", "what rates are measured in"),
          Map.entry("DurationUnit", "what times are measured in"), Map.entry("SnapshotSize", "how many of them are kept"));

  private final Meter.Id meter;

  private <T> DescribedMeter(T bean, Class<T> shape, Meter.Id meter) throws NotCompliantMBeanException {
    super(bean, shape);
    this.meter = meter;
  }

  /** @param bean of the library, of a class that implements one interface whose name ends in MBean */
  static DescribedMeter of(Object bean, Meter.Id meter) throws NotCompliantMBeanException {
    Class<?> shape =
        Arrays.stream(bean.getClass().getInterfaces())
            .filter(each -> each.getSimpleName().endsWith("MBean"))
            .findFirst()
            .orElseThrow(() -> new NotCompliantMBeanException("no bean of a meter: " + bean.getClass()));
    return of(bean, shape, meter);
  }

  private static <T> DescribedMeter of(Object bean, Class<T> shape, Meter.Id meter) throws NotCompliantMBeanException {
    return new DescribedMeter(shape.cast(bean), shape, meter);
  }

  private String description() {
    return Objects.requireNonNullElse(meter.getDescription(), meter.getName());
  }

  @Override
  protected String getDescription(MBeanInfo info) {
    return description();
  }

  @Override
  protected String getDescription(MBeanAttributeInfo attribute) {
    String part = PARTS.get(attribute.getName());
    return part == null ? description() : description() + ": " + part;
  }

  @Override
  protected String getDescription(MBeanOperationInfo operation) {
    return operation.getName().equals("objectName") ? "The name of this bean" : "The measurements that are kept";
  }

  @Override
  public MBeanInfo getMBeanInfo() {
    MBeanInfo info = super.getMBeanInfo();
    MBeanAttributeInfo[] attributes = Arrays.stream(info.getAttributes()).map(this::withUnit).toArray(MBeanAttributeInfo[]::new);
    return new MBeanInfo(
        info.getClassName(), info.getDescription(), attributes, info.getConstructors(), info.getOperations(), info.getNotifications(), info.getDescriptor());
  }

  private MBeanAttributeInfo withUnit(MBeanAttributeInfo attribute) {
    String unit = unit(attribute.getName());
    if (unit.isEmpty()) return attribute;
    return new MBeanAttributeInfo(
        attribute.getName(), attribute.getType(), attribute.getDescription(), attribute.isReadable(), attribute.isWritable(), attribute.isIs(),
        ImmutableDescriptor.union(attribute.getDescriptor(), new ImmutableDescriptor("units=" + unit)));
  }

  /** Of a counter, its count is in the unit of the meter; of a timer or a summary, that is how many were measured. */
  private String unit(String attribute) {
    String unit = Objects.requireNonNullElse(meter.getBaseUnit(), "");
    boolean counts = meter.getType() == Meter.Type.COUNTER;
    return switch (attribute) {
      case "RateUnit", "DurationUnit" -> "";
      case "Count" -> counts ? unit : "measurements";
      case "SnapshotSize" -> "measurements";
      case "MeanRate", "OneMinuteRate", "FiveMinuteRate", "FifteenMinuteRate" -> counts ? (unit.isEmpty() ? "" : unit + " per second") : "measurements per second";
      default -> unit;
    };
  }
}
