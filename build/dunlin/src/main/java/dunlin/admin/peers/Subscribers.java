package dunlin.admin.peers;

import dunlin.admin.peers.AllNodesMXBean.SubscriberPage;
import dunlin.admin.peers.PeerBeans.Gathered;
import dunlin.broker.client.ClientsMXBean;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Finds who has subscribed, for one question: by a topic filter, or by all filters that match a topic. */
final class Subscribers {
  /*
   * The routes say which filters match a topic, and at which nodes each has subscribers. So no node looks through its filters, and only nodes with subscribers are asked.
   *
   * Owner: the thread that asks, which may block.
   * Bounds: a page has FILTERS_MAX filters at most; each costs as many rows of a node as the page may still have. The routes of a topic are read ROUTES at a time, from
   * the filter on with which the page begins, until there are enough filters.
   * Failure: a node that does not answer is named, and not asked again for this page.
   */
  private static final int FILTERS_MAX = 100;
  private static final int ROUTES = 1_000;
  private static final int ROWS_MAX = 1_000;
  private static final String INBOX = "inbox";

  /** Stands in a cursor between topic filter and client identifier, neither of which can have it. */
  private static final char BETWEEN = '\0';

  /** A filter with this sorts behind all its places. */
  private static final String BEHIND_PLACES = " \uFFFF";

  private final PeerBeans peers;
  private final String tenant;
  private final Map<String, String> silent = new LinkedHashMap<>();

  Subscribers(PeerBeans peers, String tenant) {
    this.peers = peers;
    this.tenant = tenant;
  }

  /** Where a filter has subscribers. */
  private record Places(List<String> frontends, boolean sessions) {
    static Places of(RouteRow route) {
      boolean durable = route.destination().equals(INBOX);
      return new Places(durable ? List.of() : List.of(route.shard()), durable);
    }

    Places and(Places other) {
      List<String> both = new ArrayList<>(frontends);
      both.addAll(other.frontends);
      return new Places(both, sessions || other.sessions);
    }
  }

  SubscriberPage of(String filter, String after, int max) {
    List<SubscriberRow> rows = rows(filter, _ -> true, true, after, max);
    return page(rows, rows.size() < max ? "" : rows.getLast().clientId());
  }

  SubscriberPage ofTopic(String topic, String after, int max) {
    if (max < 1 || max > ROWS_MAX) throw new IllegalArgumentException("a page has 1 to %d rows, not %d".formatted(ROWS_MAX, max));
    int between = after.indexOf(BETWEEN);
    if (between < 0 && !after.isEmpty()) throw new IllegalArgumentException("not the next of a page");
    String behind = after.isEmpty() ? "" : after.substring(0, between);
    String client = after.substring(between + 1);
    List<SubscriberRow> rows = new ArrayList<>();
    NavigableMap<String, Places> filters = filters(topic, behind);
    int looked = 0;
    for (var each : filters.entrySet()) {
      String filter = each.getKey();
      if (looked++ == FILTERS_MAX) return page(rows, filter + BETWEEN);
      Places places = each.getValue();
      rows.addAll(rows(filter, row -> places.frontends().contains(row.id()), places.sessions(), filter.equals(behind) ? client : "", max - rows.size()));
      if (rows.size() == max) return page(rows, filter + BETWEEN + rows.getLast().clientId());
    }
    return page(rows, "");
  }

  private SubscriberPage page(List<SubscriberRow> rows, String next) {
    return new SubscriberPage(rows, next, List.copyOf(silent.values()));
  }

  /** The first filters, from one on, that match a topic: one more than a page has. */
  private NavigableMap<String, Places> filters(String topic, String from) {
    RoutesMXBean routes =
        peers
            .led(RoutesMXBean.class, RouteReplica.KIND, "The routes")
            .orElseThrow(() -> new IllegalStateException("the node is starting, or it serves no clients"));
    NavigableMap<String, Places> first = new TreeMap<>();
    List<RouteRow> page;
    String after = from; // sorts before the places of this filter and of all behind it
    do {
      page = routes.match(tenant, topic, after, ROUTES);
      for (RouteRow route : page) {
        if (route.filter().compareTo(from) < 0) continue;
        first.merge(route.filter(), Places.of(route), Places::and);
        if (first.size() > FILTERS_MAX + 1) first.pollLastEntry();
      }
      if (!page.isEmpty()) after = page.getLast().place();
    } while (page.size() == ROUTES && !isEnough(first, after));
    return first;
  }

  /**
   * Whether no route behind a place has one of the first filters. Places, as the routes are read, begin with their filters; they have another order than the filters where
   * one filter is another one with a blank behind it, or a character before the blank.
   */
  private static boolean isEnough(NavigableMap<String, Places> first, String place) {
    if (first.size() <= FILTERS_MAX) return false;
    String last = first.lastKey();
    return last.chars().allMatch(each -> each > ' ') && place.compareTo(last + BEHIND_PLACES) > 0;
  }

  private List<SubscriberRow> rows(String filter, Predicate<NodeRow> where, boolean sessions, String after, int max) {
    Gathered<List<SubscriberRow>> gathered =
        peers.ofAll(
            ClientsMXBean.class, where.and(row -> PeerBeans.isFrontend(row) && !silent.containsKey(row.id())), bean -> bean.subscribers(tenant, filter, after, max));
    silent.putAll(gathered.silent());
    List<SubscriberRow> all = new ArrayList<>();
    gathered.answers().values().forEach(all::addAll);
    if (sessions && !silent.containsKey(AllNodes.SESSIONS)) {
      try {
        peers.sessions().ifPresent(bean -> all.addAll(bean.subscribers(tenant, filter, after, max)));
      } catch (UncheckedIOException unanswered) {
        silent.put(AllNodes.SESSIONS, String.valueOf(unanswered.getMessage()));
      }
    }
    return all.stream().sorted(Comparator.comparing(SubscriberRow::clientId)).limit(max).toList();
  }
}
