package dunlin.broker.connect;

import dunlin.broker.tenant.Tenant;
import dunlin.broker.tenant.TenantLimit;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;

/** The connections of one event loop that wait until their tenants may be sent more; those of one tenant take turns. */
final class TenantLines {
  /*
   * Owner: the event loop.
   * Bounds: an entry for each connection at most, and a line for each tenant of which connections wait.
   * Failure: a connection that ends leaves its line.
   */
  private final Map<Tenant, LinkedHashSet<Connection>> lines = new HashMap<>();

  /** Whether a message may be sent to a client of a tenant; if not, its connection gets a turn when one may be. */
  boolean maySend(Tenant tenant, Connection connection) {
    TenantLimit enough = tenant.sentEnough();
    if (enough == null) return true;
    if (lines.computeIfAbsent(tenant, _ -> new LinkedHashSet<>()).add(connection)) tenant.hit(enough);
    return false;
  }

  /** Ends the wait of a connection. */
  void forget(Tenant tenant, Connection connection) {
    LinkedHashSet<Connection> line = lines.get(tenant);
    if (line != null) line.remove(connection);
  }

  /** Gives each connection that waits a turn, as long as its tenant may be sent more. */
  void tick() {
    if (lines.isEmpty()) return;
    lines.forEach(
        (tenant, line) -> {
          for (int left = line.size(); left > 0 && !line.isEmpty() && tenant.sentEnough() == null; left--) line.removeFirst().mayBeSentMore();
        });
    lines.values().removeIf(LinkedHashSet::isEmpty);
  }
}
