package dunlin.testkit;

import dunlin.Dunlin;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** What {@link DunlinTest} does. */
final class DunlinExtension implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, ParameterResolver {
  /*
   * Owner: JUnit, whose store keeps all of its state: the brokers and the clients in the context of the class or the method that they are for. JUnit closes
   * them with it, the last one that was stored first, so that clients are closed before their brokers.
   */
  private static final Namespace OWN = Namespace.create(DunlinExtension.class);

  /** The key of the clients of a class or of a method. */
  private record ClientsOf(String context) {}

  /**
   * The brokers of a class or of a method.
   *
   * @param clients the number of clients that were given an identifier
   */
  private record Brokers(DunlinCluster cluster, List<ClientFactory<?>> factories, AtomicInteger clients) implements AutoCloseable {
    @Override
    public void close() {
      cluster.close();
    }
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    // A nested class without the annotation has the brokers of the class around it.
    Optional<DunlinTest> wanted = AnnotationSupport.findAnnotation(context.getRequiredTestClass(), DunlinTest.class);
    if (wanted.isEmpty()) return;
    store(context).put(DunlinTest.class, wanted.get());
    if (wanted.get().scope() == DunlinTest.Scope.CLASS) begin(wanted.get(), context);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    var wanted = Objects.requireNonNull(store(context).get(DunlinTest.class, DunlinTest.class), "beforeAll has put it there");
    if (wanted.scope() == DunlinTest.Scope.METHOD) begin(wanted, context);
    else store(context).put(BrokerEvents.class, brokers(context).cluster().events().fromNow());
  }

  private static void begin(DunlinTest wanted, ExtensionContext context) {
    var builder = DunlinCluster.builder().nodes(wanted.nodes());
    for (String setting : wanted.settings()) {
      int equals = setting.indexOf('=');
      if (equals < 1) throw new IllegalArgumentException("a setting of @DunlinTest is written key=value, and not '" + setting + "'");
      builder.set(setting.substring(0, equals).strip(), setting.substring(equals + 1).strip());
    }
    var factories = TestClients.factories(context.getRequiredTestClass().getClassLoader());
    var brokers = new Brokers(builder.start(), factories, new AtomicInteger());
    store(context).put(Brokers.class, brokers);
    store(context).put(BrokerEvents.class, brokers.cluster().events());
  }

  @Override
  public void afterEach(ExtensionContext context) {
    var events = store(context).get(BrokerEvents.class, BrokerEvents.class); // none when the broker of a method has not started
    if (events != null) context.getExecutionException().ifPresent(failure -> failure.addSuppressed(new ReportedEvents(events)));
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    if (type == int.class) return parameter.isAnnotated(OnNode.class);
    if (List.of(DunlinCluster.class, Dunlin.class, URI.class, BrokerEvents.class, TestClients.class).contains(type)) return true;
    var factories = TestClients.factories(context.getRequiredTestClass().getClassLoader());
    return TestClients.factory(factories, type).isPresent();
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Brokers brokers = brokers(context);
    DunlinCluster cluster = brokers.cluster();
    Class<?> type = parameter.getParameter().getType();
    if (type == DunlinCluster.class) return cluster;
    if (type == BrokerEvents.class) return events(context);
    if (type == TestClients.class) return clients(brokers, context);
    int node = parameter.findAnnotation(OnNode.class).map(OnNode::value).orElse(0);
    if (node < 0 || node >= cluster.size())
      throw new ParameterResolutionException("@OnNode(%d): the nodes of this test are 0 to %d".formatted(node, cluster.size() - 1));
    if (type == Dunlin.class) return cluster.node(node);
    if (type == URI.class) return cluster.uri(node);
    if (type == int.class) return cluster.port(node);
    try {
      return clients(brokers, context).connect(type, node);
    } catch (Exception e) {
      throw new ParameterResolutionException("a %s cannot connect to node %d: %s".formatted(type.getSimpleName(), node, e.getMessage()), e);
    }
  }

  /** Those of the class or the method that the context is of. */
  private static TestClients clients(Brokers brokers, ExtensionContext context) {
    return store(context)
        .computeIfAbsent(
            new ClientsOf(context.getUniqueId()), _ -> new TestClients(brokers.cluster(), brokers.factories(), brokers.clients()), TestClients.class);
  }

  private static Brokers brokers(ExtensionContext context) {
    var brokers = store(context).get(Brokers.class, Brokers.class);
    if (brokers == null)
      throw new ParameterResolutionException(
          "there is no broker yet: with @DunlinTest(scope = METHOD) it is started for each test method, so constructors and static methods have none");
    return brokers;
  }

  private static BrokerEvents events(ExtensionContext context) {
    return Objects.requireNonNull(store(context).get(BrokerEvents.class, BrokerEvents.class), "it comes with the brokers");
  }

  private static ExtensionContext.Store store(ExtensionContext context) {
    return context.getStore(OWN);
  }
}
