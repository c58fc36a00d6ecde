package dunlin.node;

import dunlin.broker.ApplicationPublisher;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.inbox.SessionsMXBean;
import dunlin.runtime.Settings;
import java.util.Objects;
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

  @Override
  public void close() {
    foundation.close();
  }
}
