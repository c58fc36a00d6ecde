package dunlin.runtime;

import java.util.Map;

/** What is in force on one node, as JMX tools see it. */
public interface SettingsMXBean {
  /** Every setting's value by its key; secrets are masked. */
  Map<String, String> getEffective();
}
