package dunlin.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes clients of a test by the {@link ClientFactory} of their type, and closes them after it. */
public final class TestClients implements AutoCloseable {
  /*
   * Owner: any thread, under the lock; the extension closes it.
   * Bounds: CLIENTS_MAX clients.
   * Failure: one that cannot be closed does not keep the others from being closed.
   */
  private static final int CLIENTS_MAX = 10_000;

  private final DunlinCluster cluster;
  private final List<ClientFactory<?>> factories;
  private final AtomicInteger numbers;

  @GuardedBy("this")
  private final ArrayDeque<AutoCloseable> open = new ArrayDeque<>();

  /** @param numbers of clients, for identifiers that no other client of the cluster has */
  TestClients(DunlinCluster cluster, List<ClientFactory<?>> factories, AtomicInteger numbers) {
    this.cluster = cluster;
    this.factories = factories;
    this.numbers = numbers;
  }

  /** Those of all libraries that are there. */
  @SuppressWarnings("rawtypes") // as services are
  static List<ClientFactory<?>> factories(ClassLoader loader) {
    var found = new ArrayList<ClientFactory<?>>();
    for (var provider : ServiceLoader.load(ClientFactory.class, loader).stream().toList()) {
      try {
        ClientFactory<?> factory = provider.get();
        var _ = factory.type(); // links the library
        found.add(factory);
      } catch (LinkageError _) {
        // Its library is not there, so no parameter can be of its type.
      } catch (ServiceConfigurationError e) {
        if (!(e.getCause() instanceof LinkageError)) throw e;
      }
    }
    return List.copyOf(found);
  }

  static Optional<ClientFactory<?>> factory(List<ClientFactory<?>> factories, Class<?> type) {
    return factories.stream().filter(each -> each.type() == type).findFirst();
  }

  /**
   * Connects a client.
   *
   * @param node the number of the broker
   * @throws IllegalArgumentException when no factory makes this type
   * @throws Exception of the library
   */
  @SuppressWarnings("unchecked") // the factory says that it makes this type
  public <C> C connect(Class<C> type, int node, String clientId) throws Exception {
    var factory =
        (ClientFactory<C>)
            factory(factories, type)
                .orElseThrow(() -> new IllegalArgumentException("no ClientFactory makes a %s; there are %s".formatted(type.getName(), types(factories))));
    C client = factory.connect(cluster.uri(node), clientId);
    synchronized (this) {
      open.push(() -> factory.close(client));
      if (open.size() > CLIENTS_MAX) throw new IllegalStateException("a test has more than " + CLIENTS_MAX + " clients");
    }
    return client;
  }

  /** The same, with a client identifier of its own. */
  public <C> C connect(Class<C> type, int node) throws Exception {
    return connect(type, node, "client-" + numbers.incrementAndGet());
  }

  private static List<String> types(List<ClientFactory<?>> factories) {
    return factories.stream().map(each -> each.type().getName()).toList();
  }

  /**
   * Closes all of them, the last one first.
   *
   * @throws IllegalStateException when one could not be closed; the others are
   */
  @Override
  public synchronized void close() {
    var failures = new ArrayList<Exception>();
    while (!open.isEmpty()) {
      try {
        open.pop().close();
      } catch (Exception e) {
        failures.add(e);
      }
    }
    if (failures.isEmpty()) return;
    var failure = new IllegalStateException("a client could not be closed: " + failures.getFirst().getMessage(), failures.removeFirst());
    failures.forEach(failure::addSuppressed);
    throw failure;
  }
}
