package dunlin.load.doctor;

import dunlin.load.plan.Access;
import dunlin.load.plan.Offer;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The needs of a run.
 *
 * @param connections simultaneous connections in this process
 * @param ofAnEndpoint the connections to the endpoint that has most of them
 * @param sources the number of source addresses; 1 when the system chooses
 * @param messages in and out of the broker, in a second
 */
public record Wanted(long connections, long ofAnEndpoint, int sources, double messages) {
  public Wanted {
    if (connections < 1) throw new IllegalArgumentException("there are no connections to look at");
    if (sources < 1) throw new IllegalArgumentException("there is no source address");
  }

  /** The needs of one of several workers. */
  public Wanted share(int of) {
    return new Wanted(Math.ceilDiv(connections, of), Math.ceilDiv(ofAnEndpoint, of), sources, messages / of);
  }

  public static Wanted of(Plan plan, List<Offer> offers) {
    Map<Object, Long> connections = new HashMap<>();
    Set<String> sources = new HashSet<>();
    for (Pool pool : plan.pools()) {
      Access access = pool.access();
      sources.addAll(access.sources());
      for (var endpoint : access.endpoints()) connections.merge(endpoint, (long) Math.ceilDiv(pool.clients(), access.endpoints().size()), Long::sum);
    }
    long most = connections.values().stream().mapToLong(Long::longValue).max().orElse(1);
    double messages = offers.stream().mapToDouble(offer -> offer.published() + offer.deliveries()).max().orElse(0);
    return new Wanted(plan.clients(), most, Math.max(1, sources.size()), messages);
  }
}
