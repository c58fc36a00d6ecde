package dunlin.node;

import dunlin.cluster.Cluster;
import dunlin.node.NodeRoles.Role;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode.State;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Roles that no node of the cluster has. It says which, and is no reason for a node not to be ready: what is started first would never be ready otherwise. */
final class MissingRoles {
  /*
   * The role store is never missing: without it there is no cluster.
   *
   * Owner: the housekeeping thread calls look(); any thread asks.
   * Failure: without a leader of the meta group the map is old. Then nothing new is said in the log.
   */
  private static final Logger LOG = LoggerFactory.getLogger(MissingRoles.class);

  private final Supplier<ClusterMap> map;
  private final BooleanSupplier current;
  private final Set<Role> said = EnumSet.noneOf(Role.class);

  /** @param current whether the map is that of the meta group */
  MissingRoles(Supplier<ClusterMap> map, BooleanSupplier current) {
    this.map = map;
    this.current = current;
  }

  static MissingRoles of(Cluster cluster) {
    return new MissingRoles(cluster::map, cluster::connected);
  }

  /** The missing roles, as the setting calls them. A node counts until the cluster counts it as dead. */
  static List<String> in(ClusterMap map) {
    return missing(map).stream().map(Role::label).toList();
  }

  private static List<Role> missing(ClusterMap map) {
    var missing = new ArrayList<Role>();
    if (map.nodes().isEmpty()) return missing; // nothing is known yet
    for (Role role : Role.values()) if (role != Role.STORE && !has(map, role)) missing.add(role);
    return missing;
  }

  private static boolean has(ClusterMap map, Role role) {
    return map.nodes().values().stream().filter(node -> node.state() != State.DOWN && node.state() != State.LEFT).anyMatch(node -> node.roles().contains(role.word()));
  }

  /** A sentence without a point for each missing role. */
  List<String> sentences() {
    return missing(map.get()).stream().map(MissingRoles::sentence).toList();
  }

  private static String sentence(Role role) {
    String consequence = role == Role.FRONTEND ? "no client can connect" : "nodes with the role store lead in its place";
    return "no node of the cluster has the role %s: %s".formatted(role.label(), consequence);
  }

  /** Writes what has changed to the log. */
  void look() {
    if (!current.getAsBoolean()) return;
    List<Role> missing = missing(map.get());
    for (Role role : missing) {
      if (!said.add(role)) continue;
      if (role == Role.FRONTEND) LOG.warn("Since now, {}", sentence(role));
      else LOG.info("Since now, {}", sentence(role));
    }
    for (Role role : Role.values()) if (!missing.contains(role) && said.remove(role)) LOG.info("A node of the cluster has the role {} now", role.label());
  }
}
