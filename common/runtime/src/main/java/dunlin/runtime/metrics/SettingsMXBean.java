package dunlin.runtime.metrics;

import java.util.Map;

/** The effective settings of one node, in JMX. */
@Description("The effective settings")
public interface SettingsMXBean {
  @Description("The value of every setting by its key; secrets are masked")
  Map<String, String> getEffective();

  @Description("Where the value of every setting comes from, by its key: default, or the source that has set it")
  Map<String, String> getSources();
}
