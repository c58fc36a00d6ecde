package dunlin.node;

import dunlin.cluster.MemberSettings;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.server.SessionReplica;
import dunlin.placement.ClusterNode;
import dunlin.retain.RetainReplica;
import dunlin.runtime.Settings;
import dunlin.tiers.ClusterTiers;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** What a process does in its cluster: some of the roles of {@code dunlin.roles}, or all. */
record NodeRoles(Set<Role> roles) {
  /** A role of a process, in the order of the setting's documentation. */
  enum Role {
    /** Accepts clients. */
    FRONTEND,
    /** Keeps replicas of the ranges of routes, and is preferred for them and their leaders. */
    DIST,
    /** The same for retained messages. */
    RETAIN,
    /** The same for sessions. */
    INBOX,
    /** Founds the cluster, keeps replicas of the meta group and of all ranges, and leads ranges for which no preferred node is there. */
    STORE;

    /** The kind of the ranges that it is about. */
    private String kind() {
      return switch (this) {
        case DIST -> RouteReplica.KIND;
        case RETAIN -> RetainReplica.KIND;
        case INBOX -> SessionReplica.KIND;
        case FRONTEND, STORE -> throw new IllegalArgumentException("the role " + this + " is about no kind of ranges");
      };
    }

    /** The word for it in a node's row of the map. The role store has none of its own. */
    String word() {
      return this == FRONTEND ? ClusterTiers.FRONTEND : ClusterNode.preferring(kind());
    }

    /** Its name in the setting. */
    String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private static final Set<Role> TIERS = Set.of(Role.DIST, Role.RETAIN, Role.INBOX);

  NodeRoles {
    roles = Set.copyOf(roles);
  }

  static NodeRoles of(Settings settings) {
    return new NodeRoles(settings.get(NodeSettings.ROLES));
  }

  /** The names of the roles, as the setting has them. */
  String labels() {
    return roles.stream().sorted().map(Role::label).collect(Collectors.joining(", "));
  }

  boolean isAll() {
    return roles.size() == Role.values().length;
  }

  /** Whether clients connect to this node. */
  boolean frontend() {
    return roles.contains(Role.FRONTEND);
  }

  /** Whether this node has a store, with replicas in it. */
  boolean stores() {
    return !kinds().isEmpty();
  }

  /** The kinds of the tiers' ranges that this node may have replicas of. */
  Set<String> kinds() {
    if (roles.contains(Role.STORE)) return ClusterTiers.all();
    var kinds = new HashSet<String>();
    for (Role role : TIERS) if (roles.contains(role)) kinds.add(role.kind());
    return kinds;
  }

  /**
   * What the cluster learns about this node: whether it founds, and the words for its row of the map.
   *
   * @param users whether the cluster is to have the range of users, roles and bans
   */
  MemberSettings.Roles member(boolean users) {
    boolean store = roles.contains(Role.STORE);
    var words = new HashSet<String>();
    for (Role role : roles) if (role != Role.STORE) words.add(role.word());
    Set<String> founds = users ? ClusterTiers.all() : ClusterTiers.founded();
    return new MemberSettings.Roles(store, store ? founds : Set.of(), words);
  }
}
