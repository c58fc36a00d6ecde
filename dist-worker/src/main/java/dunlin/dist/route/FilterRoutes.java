package dunlin.dist.route;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** All routes of one topic filter: the plain ones, and those of each group of shared subscriptions. */
public final class FilterRoutes {
  /*
   * Owner: the range's applying thread changes it, lanes read it. The arrays are never modified once they are set.
   * Bounds: an array has at most one route for each shard, however many sessions the shard has, so copying it for a
   * change is cheap; there is a group for each group name in use, up to DistSettings' maximum.
   */
  private static final Route[] NO_ROUTES = {};
  private static final Group[] NO_GROUPS = {};

  private volatile Route[] plain = NO_ROUTES;
  private volatile Group[] groups = NO_GROUPS;

  /** The index that has counted the routes; under its lock. */
  @Nullable RouteIndex countedBy;

  /** The shards in which a group of shared subscriptions has members. */
  public static final class Group {
    private final String name;
    private final boolean ordered;
    private volatile Route[] routes = NO_ROUTES;

    private Group(String name, boolean ordered) {
      this.name = name;
      this.ordered = ordered;
    }

    public boolean ordered() {
      return ordered;
    }

    /** Must not be modified. */
    public Route[] routes() {
      return routes;
    }
  }

  /**
   * Routes by their filters.
   *
   * @param routes those of a filter stand together
   */
  public static List<FilterRoutes> of(Iterable<Route> routes) {
    var all = new ArrayList<FilterRoutes>();
    @Nullable String last = null;
    for (Route route : routes) {
      String filter = route.filter().filter();
      if (!filter.equals(last)) all.add(new FilterRoutes());
      all.getLast().put(route);
      last = filter;
    }
    return all;
  }

  /** Must not be modified. */
  public Route[] plain() {
    return plain;
  }

  /** Must not be modified. */
  public Group[] groups() {
    return groups;
  }

  /** Whether the group of a shared subscription's filter exists. */
  boolean hasGroup(TopicFilter filter) {
    return group(filter) != null;
  }

  boolean isEmpty() {
    return plain.length == 0 && groups.length == 0;
  }

  /** One of the routes, or null when there is none. Any thread. */
  @Nullable Route any() {
    Route[] some = plain;
    if (some.length > 0) return some[0];
    Group[] of = groups;
    return of.length == 0 ? null : of[0].routes[0];
  }

  /** The plain routes and those of all groups. */
  List<Route> all() {
    var all = new ArrayList<>(Arrays.asList(plain));
    for (Group group : groups) all.addAll(Arrays.asList(group.routes));
    return all;
  }

  /** The route of a shard, in the filter's group if it has one; or null. */
  @Nullable Route find(TopicFilter filter, ShardId shard) {
    if (!filter.shared()) return find(plain, shard);
    Group group = group(filter);
    return group == null ? null : find(group.routes, shard);
  }

  /** Sets the route of a shard; returns whether there was none. */
  boolean put(Route route) {
    boolean isNew = find(route.filter(), route.shard()) == null;
    if (!route.filter().shared()) {
      plain = with(plain, route);
      return isNew;
    }
    Group group = group(route.filter());
    if (group == null) {
      // A reader never sees an empty group: it is filled before it is published.
      group = new Group(route.filter().group(), route.filter().ordered());
      group.routes = new Route[] {route};
      Group[] more = Arrays.copyOf(groups, groups.length + 1);
      more[more.length - 1] = group;
      groups = more;
    } else {
      group.routes = with(group.routes, route);
    }
    return isNew;
  }

  /** Removes the route of a shard, which must exist. */
  void remove(TopicFilter filter, ShardId shard) {
    if (!filter.shared()) {
      plain = without(plain, shard);
      return;
    }
    Group group = group(filter);
    if (group == null) throw new IllegalStateException("no group for " + filter.text());
    if (group.routes.length > 1) {
      group.routes = without(group.routes, shard);
    } else {
      groups = Arrays.stream(groups).filter(other -> other != group).toArray(Group[]::new);
    }
  }

  private @Nullable Group group(TopicFilter filter) {
    for (Group group : groups) {
      if (group.ordered == filter.ordered() && group.name.equals(filter.group())) return group;
    }
    return null;
  }

  private static @Nullable Route find(Route[] routes, ShardId shard) {
    for (Route route : routes) if (route.shard().equals(shard)) return route;
    return null;
  }

  private static Route[] with(Route[] routes, Route route) {
    for (int i = 0; i < routes.length; i++) {
      if (!routes[i].shard().equals(route.shard())) continue;
      Route[] replaced = routes.clone();
      replaced[i] = route;
      return replaced;
    }
    Route[] more = Arrays.copyOf(routes, routes.length + 1);
    more[routes.length] = route;
    return more;
  }

  private static Route[] without(Route[] routes, ShardId shard) {
    return Arrays.stream(routes).filter(route -> !route.shard().equals(shard)).toArray(Route[]::new);
  }
}
