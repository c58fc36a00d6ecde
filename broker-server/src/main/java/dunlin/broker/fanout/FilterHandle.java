package dunlin.broker.fanout;

import dunlin.dist.route.Route;
import dunlin.model.TopicFilter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * One topic filter that sessions of this frontend have subscribed to, with the subscribers on each event loop. The
 * route contains its number, so that a message finds it without another match.
 */
public final class FilterHandle {
  /*
   * Owner: the number, the use count and the route belong to the loop that the filter hashes to (RouteTable). The list
   * of a loop's subscribers belongs to that loop. loops says which lists are not empty: each loop sets and clears its
   * own bit, and any thread reads it.
   */
  private static final VarHandle LOOPS;

  static {
    try {
      LOOPS = MethodHandles.lookup().findVarHandle(FilterHandle.class, "loops", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String tenant;
  private final TopicFilter filter;
  private final int number;
  private final @Nullable SubscriberList[] byLoop;
  private final @Nullable ShareGroup group;

  private volatile long loops;

  /**
   * The last route that was found to belong to this filter, so that the next message need not compare again; any
   * thread.
   */
  private @Nullable Route known;

  FilterHandle(String tenant, TopicFilter filter, int number, int loopCount) {
    this.tenant = tenant;
    this.filter = filter;
    this.number = number;
    this.byLoop = new @Nullable SubscriberList[filter.shared() ? 0 : loopCount];
    this.group = filter.shared() ? new ShareGroup(filter.ordered(), loopCount) : null;
  }

  public TopicFilter filter() {
    return filter;
  }

  public String tenant() {
    return tenant;
  }

  int number() {
    return number;
  }

  /** The members, if this is a shared subscription; else null. */
  public @Nullable ShareGroup group() {
    return group;
  }

  /** Whether the route was set for this filter; its number may have been used for another filter before. */
  @SuppressWarnings("ReferenceEquality") // a shortcut; the comparison follows
  boolean isOf(Route route) {
    if (route == known) return true;
    if (!route.filter().equals(filter) || !route.tenant().equals(tenant)) return false;
    known = route;
    return true;
  }

  /** Bit i is set if loop i has subscribers. */
  long loops() {
    return loops;
  }

  /** The subscribers on a loop; called by that loop only. */
  @Nullable SubscriberList on(int loop) {
    return byLoop[loop];
  }

  /** The client identifiers of the subscribers on a loop, as of now; called by that loop only. */
  public String[] clientIdsOn(int loop) {
    SubscriberList list = group == null ? byLoop[loop] : null;
    return list == null ? new String[0] : list.clientIds();
  }

  /** Adds a subscriber on its own loop. */
  public void add(int loop, Subscriber subscriber) {
    SubscriberList list = byLoop[loop];
    if (list == null) byLoop[loop] = list = new SubscriberList();
    list.add(subscriber);
    if (list.size() == 1) LOOPS.getAndBitwiseOr(this, 1L << loop);
  }

  /** Removes a subscriber on its own loop. */
  public void remove(int loop, Subscriber subscriber) {
    SubscriberList list = byLoop[loop];
    if (list == null) throw new IllegalStateException("no subscribers of " + filter.text() + " on loop " + loop);
    list.remove(subscriber);
    if (list.size() == 0) {
      byLoop[loop] = null;
      LOOPS.getAndBitwiseAnd(this, ~(1L << loop));
    }
  }
}
