package dunlin.runtime.metrics;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.Settings;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
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
 * The MXBeans of one node, under {@code dunlin:type=<type>,node=<id>}. Closing takes away this node's, and only these.
 *
 * <p>A node runs without them: what cannot be registered is logged.
 */
public final class NodeBeans implements AutoCloseable {
  /*
   * Owner: any thread; every method holds the lock, and none of them is on a message's way.
   * Bounds: one entry a registered bean; a feature registers a fixed number, or takes away those of what comes and goes.
   * Failure: a name that is taken (two nodes of one id in this JVM) leaves the first one's bean in place. What comes
   * after the close, from a feature that is still ending on another thread, is not shown, since nothing would remove it.
   */
  private static final Logger log = LoggerFactory.getLogger(NodeBeans.class);

  private final String node;
  private final @Nullable MBeanServer server;
  private final Deque<ObjectName> registered = new ArrayDeque<>();

  @GuardedBy("this")
  private boolean closed;

  public NodeBeans(String node) {
    this.node = node;
    server = platformServer();
  }

  /** This JVM's MBean server. Null where there can be none; said once a node, in the log. */
  private static @Nullable MBeanServer platformServer() {
    try {
      return ManagementFactory.getPlatformMBeanServer();
    } catch (JMRuntimeException | SecurityException failure) {
      log.warn("No MBean server, so nothing is visible by JMX", failure);
      return null;
    }
  }

  boolean available() {
    return server != null;
  }

  /** Registers an MXBean, an object with a public interface whose name ends in MXBean. */
  public void register(String type, Object bean) {
    register(type, Map.of(), bean);
  }

  /**
   * Registers one MXBean of several of its type.
   *
   * @param keys what tells them apart, such as {@code name=tcp}
   */
  public synchronized void register(String type, Map<String, String> keys, Object bean) {
    if (server == null || closed) return;
    String name = name(type, keys);
    try {
      ObjectName objectName = new ObjectName(name);
      server.registerMBean(DescribedBean.of(bean), objectName);
      registered.push(objectName);
    } catch (JMException failure) {
      log.warn("Not visible by JMX: {}", name, failure);
    }
  }

  /** Takes away one bean that was registered here; nothing happens when it was not. */
  public synchronized void unregister(String type, Map<String, String> keys) {
    try {
      ObjectName name = new ObjectName(name(type, keys));
      if (registered.remove(name)) unregister(name);
    } catch (MalformedObjectNameException failure) {
      log.debug("Never visible by JMX: {}", type, failure);
    }
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

  /** Shows a node's settings as {@code dunlin:type=Settings,node=<id>}. */
  public void register(Settings settings) {
    Map<String, String> effective = Map.copyOf(settings.effective());
    SettingsMXBean bean = () -> effective;
    register("Settings", bean);
  }

  @Override
  public synchronized void close() {
    closed = true;
    while (!registered.isEmpty()) unregister(registered.pop());
  }
}
