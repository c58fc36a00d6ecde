package dunlin.runtime.metrics;

import java.util.Map;

/** What is in force on one node, as JMX tools see it. */
@Description("The settings in force")
public interface SettingsMXBean {
  @Description("Every setting's value by its key; secrets are masked")
  Map<String, String> getEffective();
}
