package dunlin.runtime.metrics;

import java.util.Map;

/** The settings of a node, which do not change while it runs. */
record SettingsInForce(Map<String, String> effective, Map<String, String> sources) implements SettingsMXBean {
  SettingsInForce {
    effective = Map.copyOf(effective);
    sources = Map.copyOf(sources);
  }

  @Override
  public Map<String, String> getEffective() {
    return effective;
  }

  @Override
  public Map<String, String> getSources() {
    return sources;
  }
}
