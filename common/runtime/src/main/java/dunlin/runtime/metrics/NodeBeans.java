package dunlin.runtime.metrics;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.Settings;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.JMRuntimeException;
import javax.management.MBeanRegistrationException;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The MXBeans of one node, under {@code dunlin:type=<type>,node=<id>}. Closing removes only this node's beans. They are what operators
 * can see and do: JMX shows them, and the admin API calls the same objects, which it finds here.
 *
 * <p>A node can run without JMX: a bean that cannot be registered there is logged, and the admin API has it nevertheless.
 */
public final class NodeBeans implements AutoCloseable {
  /*
   * Owner: any thread; every method holds the lock, and none is on the path of messages.
   * Bounds: one entry for each registered bean; a feature registers a fixed number, or unregisters those that are no
   * longer needed.
   * Failure: when a name is in use (two nodes with the same id in this JVM), the first one's bean stays. A bean that is
   * registered after the close, by a feature that is still ending on another thread, is ignored, since nothing would
   * remove it.
   */
  private static final Logger log = LoggerFactory.getLogger(NodeBeans.class);

  private final String node;
  private final @Nullable MBeanServer server;
  @GuardedBy("this")
  private final Deque<ObjectName> registered = new ArrayDeque<>();

  /** All beans of this node by their names, also those that JMX does not show. */
  @GuardedBy("this")
  private final Map<String, Named> present = new LinkedHashMap<>();

  @GuardedBy("this")
  private boolean closed;

  private record Named(Map<String, String> keys, Object bean) {}

  public NodeBeans(String node) {
    this.node = node;
    server = platformServer();
  }

  /** This JVM's MBean server, or null if there is none, which is logged once for each node. */
  private static @Nullable MBeanServer platformServer() {
    try {
      return ManagementFactory.getPlatformMBeanServer();
    } catch (JMRuntimeException | SecurityException failure) {
      log.warn("No MBean server, so nothing is visible by JMX", failure);
      return null;
    }
  }

  /**
   * Checks how many rows or messages an operation of a bean is asked for.
   *
   * @throws IllegalArgumentException unless it is from 1 to the most
   */
  public static void requireMax(int max, int most) {
    if (max < 1 || max > most) throw new IllegalArgumentException("max is %d; it must be from 1 to %d".formatted(max, most));
  }

  boolean available() {
    return server != null;
  }

  /** Registers an MXBean, an object with a public interface whose name ends in MXBean. */
  public void register(String type, Object bean) {
    register(type, Map.of(), bean);
  }

  /**
   * Registers one of several MXBeans of a type.
   *
   * @param keys distinguishes them, such as {@code name=tcp}
   */
  public synchronized void register(String type, Map<String, String> keys, Object bean) {
    if (closed) return;
    String name = name(type, keys);
    present.put(name, new Named(Map.copyOf(keys), bean));
    showByJmx(name, bean);
  }

  /** Shows an MXBean by JMX alone: {@link #find} has another one of its type, or none. */
  public synchronized void show(String type, Object bean) {
    if (!closed) showByJmx(name(type, Map.of()), bean);
  }

  @GuardedBy("this")
  private void showByJmx(String name, Object bean) {
    if (server == null) return;
    try {
      ObjectName objectName = new ObjectName(name);
      server.registerMBean(DescribedBean.of(name, bean), objectName);
      registered.push(objectName);
    } catch (JMException failure) {
      log.warn("Not visible by JMX: {}", name, failure);
    }
  }

  /** Unregisters a bean; does nothing when it was not registered here. */
  public synchronized void unregister(String type, Map<String, String> keys) {
    present.remove(name(type, keys));
    try {
      ObjectName name = new ObjectName(name(type, keys));
      if (registered.remove(name)) unregister(name);
    } catch (MalformedObjectNameException failure) {
      log.debug("Never visible by JMX: {}", type, failure);
    }
  }

  /** The only bean of a type; empty while it is not registered, such as that of sessions which another node leads. */
  public synchronized <T> Optional<T> find(Class<T> shape) {
    return present.values().stream().map(Named::bean).filter(shape::isInstance).map(shape::cast).findFirst();
  }

  /** The beans of a type, by the value of the key that distinguishes them, in its order. */
  public synchronized <T> SortedMap<String, T> all(Class<T> shape, String key) {
    SortedMap<String, T> found = new TreeMap<>();
    for (Named each : present.values()) {
      if (shape.isInstance(each.bean())) found.put(each.keys().getOrDefault(key, ""), shape.cast(each.bean()));
    }
    return found;
  }

  private String name(String type, Map<String, String> keys) {
    StringBuilder name = new StringBuilder("dunlin:type=").append(type);
    name.append(",node=").append(JmxNames.value(node));
    keys.forEach((key, value) -> name.append(',').append(key).append('=').append(JmxNames.value(value)));
    return name.toString();
  }

  private void unregister(ObjectName name) {
    if (server == null) return;
    try {
      server.unregisterMBean(name);
    } catch (InstanceNotFoundException | MBeanRegistrationException failure) {
      log.debug("Already gone from JMX: {}", name, failure);
    }
  }

  /** Registers a node's settings as {@code dunlin:type=Settings,node=<id>}. */
  public void register(Settings settings) {
    register("Settings", new SettingsInForce(settings.effective(), settings.sources()));
  }

  @Override
  public synchronized void close() {
    closed = true;
    present.clear();
    while (!registered.isEmpty()) unregister(registered.pop());
  }
}
