package dunlin.node;

import dunlin.broker.ApplicationPublisher;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.broker.FrontendMXBean;
import dunlin.broker.connect.Drain;
import dunlin.inbox.SessionsMXBean;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node: {@link LoneBroker}, {@link ClusterBroker} or {@link StoreNode}, each of which shows from top to bottom how it is composed.
 */
public final class Node implements AutoCloseable {
  /*
   * Owner: the thread that starts it; any thread may close it.
   * Failure: a start continues as long as it makes progress, which the log and the admin port show; the latter is
   * opened before the store is started. A failed start closes all that was opened, in reverse order.
   */
  private static final Logger log = LoggerFactory.getLogger(Node.class);

  /** The version in the jar's manifest; there is none when classes are run from a folder. */
  public static final String VERSION =
      Objects.requireNonNullElse(Node.class.getPackage().getImplementationVersion(), "of no release");

  private static final long DRAIN_LOOK_NANOS = Duration.ofMillis(50).toNanos();

  private final Foundation foundation;
  private @Nullable Broker broker; // none without the role frontend

  private Node(Foundation foundation) {
    this.foundation = foundation;
  }

  /** Starts a node; returns when clients can connect, or, without the role frontend, when it belongs to its cluster. */
  public static Node start(Settings settings, Embedding embedding) {
    return start(new Foundation(settings, false, embedding));
  }

  /** The same for a process that only runs this node. */
  public static Node startProcess(Settings settings, Consumer<RuntimeException> onFailure) {
    return start(new Foundation(settings, true, Embedding.none(onFailure)));
  }

  private static Node start(Foundation foundation) {
    Node node = new Node(foundation);
    try {
      node.start();
      return node;
    } catch (RuntimeException | Error e) {
      node.close();
      throw e;
    }
  }

  private void start() {
    Settings settings = foundation.settings();
    NodeSettings.check(settings);
    foundation.introduce();
    if (!NodeSettings.isInCluster(settings)) broker = LoneBroker.start(foundation);
    else if (NodeSettings.hasFrontend(settings)) broker = ClusterBroker.start(foundation);
    else StoreNode.start(foundation);
    foundation.readiness().started();
    log.info("Node {} has started", id());
  }

  private Broker broker() {
    if (broker == null) throw new IllegalStateException("this node serves no clients");
    return broker;
  }

  public Frontend frontend() {
    return broker().frontend();
  }

  /** Publishes for the application that embeds the node. */
  public ApplicationPublisher publisher() {
    return frontend().application();
  }

  /** The subscriptions of that application. */
  public ApplicationSubscriptions subscriptions() {
    return broker().subscriptions();
  }

  public SessionsMXBean sessions() {
    return broker()
        .sessions()
        .orElseThrow(() -> new IllegalStateException("the sessions of a cluster are operated by JMX at the node that leads them"));
  }

  /** -1 when there is none. */
  public int adminPort() {
    return foundation.adminPort();
  }

  /** -1 when there is none. */
  public int healthPort() {
    return foundation.healthPort();
  }

  /** The id in the data directory. */
  public String id() {
    return foundation.id();
  }

  /**
   * Sends the clients away at an even pace, so that all are gone after {@code dunlin.drain.time}, and refuses new ones; MQTT 5, section 4.11. Blocks until no
   * client is connected, or that time has passed. A drain that an operator has begun keeps its pace. Does nothing when the time is 0, and without the role frontend.
   */
  public void drain() {
    Duration time = foundation.settings().get(NodeSettings.DRAIN_TIME);
    if (broker == null || time.isZero()) return;
    FrontendMXBean bean = broker.frontend().bean();
    long end = System.nanoTime() + time.toNanos();
    if (!bean.isDraining() && bean.getConnections() > 0) bean.drain("", pace(bean.getConnections(), time));
    while (bean.getConnections() > 0 && System.nanoTime() - end < 0) LockSupport.parkNanos(DRAIN_LOOK_NANOS);
  }

  /** The lowest number of clients a second with which all are gone in time. */
  private static int pace(int clients, Duration time) {
    return Math.clamp(Math.ceilDiv(clients * 1_000L, Math.max(1, time.toMillis())), 1, Drain.FASTEST);
  }

  @Override
  public void close() {
    foundation.close();
  }
}
