package dunlin.runtime.metrics;

import com.codahale.metrics.jmx.ObjectNameFactory;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.config.NamingConvention;
import io.micrometer.core.instrument.util.HierarchicalNameMapper;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * Names of meters in JMX: {@code dunlin:type=Metrics,node=<id>,name=dunlin.messages.dropped,hop=session,reason=expired}.
 *
 * <p>The library between Micrometer and JMX only supports flat names, so the flat name is the property list itself.
 */
final class JmxNames implements HierarchicalNameMapper, ObjectNameFactory {
  static final String DOMAIN = "dunlin";

  private static final Set<String> TAKEN = Set.of("type", "name");

  private final String node;

  /** The meters that have a bean, or are about to get one. */
  private final Map<ObjectName, Meter.Id> meters = new ConcurrentHashMap<>();

  JmxNames(String node) {
    this.node = node;
  }

  /** The meter of a bean. */
  Optional<Meter.Id> meter(ObjectName bean) {
    return Optional.ofNullable(meters.get(bean));
  }

  /** Notes that a bean is gone. */
  void forget(ObjectName bean) {
    meters.remove(bean);
  }

  @Override
  public String toHierarchicalName(Meter.Id id, NamingConvention convention) {
    String name = name(id);
    meters.put(createName("", DOMAIN, name), id);
    return name;
  }

  private String name(Meter.Id id) {
    StringBuilder name = new StringBuilder("node=").append(value(node)).append(",name=").append(value(id.getName()));
    for (Tag tag : id.getTagsAsIterable()) {
      if (tag.getKey().equals("node")) continue; // the common tag is there already
      name.append(',').append(TAKEN.contains(tag.getKey()) ? "tag-" + tag.getKey() : tag.getKey());
      name.append('=').append(value(tag.getValue()));
    }
    return name.toString();
  }

  @Override
  public ObjectName createName(String type, String domain, String name) {
    try {
      return new ObjectName(domain + ":type=Metrics," + name);
    } catch (MalformedObjectNameException strangeTag) {
      return quoted(domain, name);
    }
  }

  /** Quotes the name: no meter may fail because of its name in JMX, whatever keys libraries use for tags. */
  private static ObjectName quoted(String domain, String name) {
    try {
      return new ObjectName(domain + ":type=Metrics,name=" + ObjectName.quote(name));
    } catch (MalformedObjectNameException impossible) {
      throw new IllegalStateException("not a name, even quoted: " + name, impossible);
    }
  }

  /** A property's value in an object name, quoted if necessary. */
  static String value(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (",=:\"*?\n\\".indexOf(text.charAt(i)) >= 0) return ObjectName.quote(text);
    }
    return text.isEmpty() ? "\"\"" : text;
  }
}
