package dunlin.broker.connect;

import dunlin.model.Publisher;
import java.util.Collection;
import java.util.Comparator;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/** The connected clients of all event loops in the order of their client identifiers, for operators. */
final class ClientIndex {
  /*
   * Owner: the loop of a connection adds and removes it; any thread reads.
   * Bounds: one entry for each connected client. Its key is the publisher that the session has anyway, so an entry takes 24 bytes, and half of that again in the
   * upper levels (ADR 54).
   * A client that connects again has one entry, that of its newest connection.
   */
  private static final Comparator<Publisher> ORDER = Comparator.comparing(Publisher::tenant).thenComparing(Publisher::clientId);

  private final ConcurrentNavigableMap<Publisher, Connection> clients = new ConcurrentSkipListMap<>(ORDER);

  void add(Publisher client, Connection connection) {
    clients.put(client, connection);
  }

  /** Removes a connection; that of another connection of the same client stays. */
  void remove(Publisher client, Connection connection) {
    clients.remove(client, connection);
  }

  /** The connection of a client; null when it has none. It may be ending. */
  @Nullable Connection get(String tenant, String clientId) {
    return clients.get(new Publisher(tenant, clientId));
  }

  /**
   * The connections of clients from one on, also those of later tenants, in their order.
   *
   * @param inclusive whether the one of this client identifier is among them
   */
  Collection<Connection> from(String tenant, String clientId, boolean inclusive) {
    return clients.tailMap(new Publisher(tenant, clientId), inclusive).values();
  }
}
