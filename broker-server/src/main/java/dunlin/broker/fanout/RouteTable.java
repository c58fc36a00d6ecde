package dunlin.broker.fanout;

import dunlin.broker.limit.Budget;
import dunlin.broker.loop.Loop;
import dunlin.dist.DistClient;
import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.runtime.LogText;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The topic filters that this frontend's sessions have subscribed to; each table has those that hash to one event loop.
 * Counts the subscriptions of each filter, sets its route with the first and removes it with the last.
 */
public final class RouteTable {
  /*
   * Owner: one event loop; other loops send their requests here. Any loop may look up a number.
   * Numbers: loop i of n gives out i, i + n, i + 2n and so on, so that a number determines its table. Numbers are
   * reused, so a caller that looks one up must check FilterHandle.isOf with the route that contained it.
   * Order: the changes of a filter are sent to the dist tier one after the other and take effect in that order, so if a
   * route is removed and then set again, it is set in the end. One change of each filter waits: a later one takes its
   * place, and if the route was never set, setting and removing it leave nothing to send.
   * Failure: if a route cannot be removed, StaleRoutes has it removed again, unless it is in use again by then.
   * Bounds: one entry for each distinct filter of live sessions, each of which is bounded in subscriptions. Changes in
   * progress are bounded by a share of CHANGES_MAX, so that a thousand clients that disconnect at once do not fill the
   * dist tier's queue and cause the next SUBSCRIBE to be refused. Routes that wait to be set are of live sessions. A
   * removal counts for the node's budget of subscriptions, as the subscription did, until it has been made: sessions that
   * come and go while the dist tier makes no changes use that budget up, and a further SUBSCRIBE is refused (0x97).
   */
  private static final Logger log = LoggerFactory.getLogger(RouteTable.class);
  private static final int CHANGES_MAX = 8_192;

  /** Estimated heap of a subscription, apart from the text of its filter, which is kept in several places. */
  public static final int SUBSCRIPTION_BYTES = 512;

  public static final int TEXTS = 4;

  private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(FilterHandle[].class);

  private final Loop loop;
  private final int loopCount;
  private final ShardId shard;
  private final DistClient dist;

  private final int changesMax;

  /** The completed future of every route that is set. */
  private final CompletableFuture<Void> standing = CompletableFuture.completedFuture(null);

  private final Map<Key, Entry> entries = new HashMap<>();

  /** In the order in which they are sent. */
  private final LinkedHashMap<Key, Change> changesWaiting = new LinkedHashMap<>();

  /** How many changes of a filter's route wait or are in progress. */
  private final Map<Key, Integer> changing = new HashMap<>();

  /** Null unless the routes are being compared. */
  private @Nullable RouteCheck check;
  private final StaleRoutes stale;

  /** Of the budget for subscriptions, for removals. */
  private final Budget.Share memory;

  private long incarnation;
  private int subscriptions;
  private int sharedSubscriptions;
  private int changesUnderWay;
  private boolean makingChanges;
  private final ArrayDeque<Integer> freeSlots = new ArrayDeque<>();
  private int slotsUsed = 1; // slot 0 stays empty: number 0 of a route means "none"
  private volatile @Nullable FilterHandle[] bySlot = new @Nullable FilterHandle[16];

  /**
   * A route to set or to remove.
   *
   * @param first whether it sets a route that the dist tier surely does not have
   */
  private record Change(Route route, boolean set, boolean first, CompletableFuture<Void> done) {}

  record Key(String tenant, TopicFilter filter) implements Comparable<Key> {
    static Key of(FilterHandle handle) {
      return new Key(handle.tenant(), handle.filter());
    }

    @Override
    public int compareTo(Key other) {
      int byFilter = filter.compareTo(other.filter);
      return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
    }
  }

  private static final class Entry {
    final FilterHandle handle;
    int uses;
    CompletableFuture<Void> routed;

    Entry(FilterHandle handle, CompletableFuture<Void> routed) {
      this.handle = handle;
      this.routed = routed;
    }
  }

  /** A filter that was counted, and a future that completes when all publishes find it. */
  public record Use(FilterHandle handle, CompletableFuture<Void> routed) {}

  RouteTable(Loop loop, int loopCount, ShardId shard, long incarnation, DistClient dist) {
    this.loop = loop;
    this.loopCount = loopCount;
    this.shard = shard;
    this.incarnation = incarnation;
    this.dist = dist;
    this.changesMax = Math.max(64, CHANGES_MAX / loopCount);
    this.stale = new StaleRoutes(loop, this::removeRoute);
    this.memory = loop.budget().subscriptions().share();
  }

  /** Estimated heap of a subscription with what the node keeps for its filter. */
  public static long memoryOf(TopicFilter filter) {
    return SUBSCRIPTION_BYTES + (long) TEXTS * filter.text().length();
  }

  /** The index of the loop that keeps a filter. */
  public static int ownerOf(String tenant, TopicFilter filter, int loopCount) {
    int hash = filter.hashCode() * 31 + tenant.hashCode();
    return Math.floorMod(hash ^ (hash >>> 16), loopCount);
  }

  /** Counts one more subscription of the filter. If its route could not be set before, that is tried again. */
  public Use acquire(String tenant, TopicFilter filter) {
    assert loop.isCurrent() : "touched off its event loop";
    Key key = new Key(tenant, filter);
    Entry entry = entries.get(key);
    if (entry == null) {
      FilterHandle handle = new FilterHandle(tenant, filter, takeNumber(), loopCount);
      publish(handle.number(), handle);
      entry = new Entry(handle, standing);
      entries.put(key, entry);
      boolean first = !stale.used(key) && !changing.containsKey(key);
      setRoute(entry, first);
    } else if (entry.routed.isCompletedExceptionally()) {
      setRoute(entry, false);
    }
    entry.uses++;
    subscriptions++;
    if (filter.shared()) sharedSubscriptions++;
    return new Use(entry.handle, entry.routed);
  }

  @SuppressWarnings("ReferenceEquality") // the route may have been set again since
  private void setRoute(Entry entry, boolean first) {
    CompletableFuture<Void> routed = set(entry.handle, first);
    entry.routed = routed;
    routed.thenRun(
        () -> {
          if (entry.routed == routed) entry.routed = standing; // so that millions of filters do not keep a future each
        });
  }

  /** Sets all routes again, and those of later filters, with a larger incarnation: those that were set before are void, and may be removed at any time. */
  void renew(long larger) {
    assert loop.isCurrent() : "touched off its event loop";
    incarnation = larger;
    for (Entry entry : entries.values()) setRoute(entry, false);
  }

  /** Counts one subscription less; the route is removed with the last one, and its future is cancelled if it still waits to be set. */
  public void release(FilterHandle handle) {
    assert loop.isCurrent() : "touched off its event loop";
    Key key = Key.of(handle);
    Entry entry = entries.get(key);
    if (entry == null || entry.handle != handle) throw new IllegalStateException("released twice: " + handle.filter().text());
    subscriptions--;
    if (handle.filter().shared()) sharedSubscriptions--;
    if (--entry.uses > 0) return;
    entries.remove(key);
    publish(handle.number(), null);
    freeSlots.add(slotOf(handle.number()));
    removeRoute(handle);
  }

  private void removeRoute(FilterHandle handle) {
    remove(handle)
        .whenComplete(
            (_, failure) -> {
              if (failure == null) return;
              loop.meters().storeFailed();
              log.debug("The route of {} was not removed: {}", LogText.quoted(handle.filter().text()), LogText.quoted(failure.toString()));
              if (!entries.containsKey(Key.of(handle))) stale.add(handle);
            });
  }

  public int size() {
    return entries.size();
  }

  /** The handle of a filter; empty without subscriptions. */
  public Optional<FilterHandle> find(String tenant, TopicFilter filter) {
    assert loop.isCurrent() : "touched off its event loop";
    return Optional.ofNullable(entries.get(new Key(tenant, filter))).map(entry -> entry.handle);
  }

  /** Number of subscriptions, of which a filter may have many; any thread, may be stale. */
  public int subscriptions() {
    return subscriptions;
  }

  public int sharedSubscriptions() {
    return sharedSubscriptions;
  }

  /** The filter with this number, or null if it was removed; any thread. */
  @Nullable FilterHandle byNumber(int number) {
    int slot = slotOf(number);
    @Nullable FilterHandle[] slots = bySlot;
    return slot < slots.length ? (FilterHandle) SLOT.getAcquire(slots, slot) : null;
  }

  /** Visits all filters; any thread. Those that come or go at the same time may be visited or not. */
  public void visit(Consumer<FilterHandle> visitor) {
    @Nullable FilterHandle[] slots = bySlot;
    for (int slot = 0; slot < slots.length; slot++) {
      FilterHandle handle = (FilterHandle) SLOT.getAcquire(slots, slot);
      if (handle != null) visitor.accept(handle);
    }
  }

  /** Number of changes to routes that have not been made yet. */
  public int changesWaiting() {
    return changesWaiting.size() + changesUnderWay;
  }

  /** Routes that are to be removed again since that has failed. */
  public int staleRoutes() {
    return stale.size();
  }

  /** Number of routes that could not be removed and are left to the next start of the node; any thread, may be stale. */
  public long abandonedRoutes() {
    return stale.abandoned();
  }

  /** Has the route set; instead of what waits for its filter, if anything does. */
  private CompletableFuture<Void> set(FilterHandle handle, boolean first) {
    Key key = Key.of(handle);
    Change before = changesWaiting.get(key);
    if (before != null && before.set()) {
      wait(key, handle, new Change(routeOf(handle), true, before.first(), before.done()));
      return before.done();
    }
    Change change = new Change(routeOf(handle), true, first, new CompletableFuture<>());
    wait(key, handle, change);
    if (before != null) {
      memory.add(-memoryOf(key.filter()));
      before.done().complete(null); // the route that is set takes the place of the one that was to be removed
    }
    makeChanges();
    return change.done();
  }

  /** Has the route removed; instead of what waits for its filter, if anything does. */
  private CompletableFuture<Void> remove(FilterHandle handle) {
    Key key = Key.of(handle);
    Change before = changesWaiting.get(key);
    if (before != null && before.first()) {
      changesWaiting.remove(key);
      changed(key);
      before.done().cancel(false);
      return standing;
    }
    if (before != null && !before.set()) {
      wait(key, handle, new Change(routeOf(handle), false, false, before.done()));
      return before.done();
    }
    Change change = new Change(routeOf(handle), false, false, new CompletableFuture<>());
    wait(key, handle, change);
    memory.add(memoryOf(key.filter()));
    if (before != null) before.done().cancel(false);
    makeChanges();
    return change.done();
  }

  private Route routeOf(FilterHandle handle) {
    return new Route(handle.tenant(), handle.filter(), shard, incarnation, handle.number());
  }

  private void wait(Key key, FilterHandle handle, Change change) {
    if (changesWaiting.put(key, change) == null) changing.merge(key, 1, Integer::sum);
    if (check != null) check.changes(key, slotOf(handle.number()), change.set());
  }

  private void changed(Key key) {
    changing.computeIfPresent(key, (_, count) -> count == 1 ? null : count - 1);
  }

  private void makeChanges() {
    if (makingChanges) return; // a change that completes at once calls this method again; the loop below continues
    makingChanges = true;
    while (changesUnderWay < changesMax && !changesWaiting.isEmpty()) {
      Change next = changesWaiting.pollFirstEntry().getValue();
      changesUnderWay++;
      CompletableFuture<Void> made = next.set() ? dist.addRoute(next.route()) : dist.removeRoute(next.route());
      made.whenComplete((_, failure) -> loop.run(() -> made(next, failure)));
    }
    makingChanges = false;
  }

  private void made(Change change, @Nullable Throwable failure) {
    changesUnderWay--;
    changed(new Key(change.route().tenant(), change.route().filter()));
    if (!change.set()) memory.add(-memoryOf(change.route().filter()));
    if (failure == null) change.done().complete(null);
    else change.done().completeExceptionally(failure);
    makeChanges();
  }

  // ------------------------------------------------------------------------------------------------------------ for RouteAudit

  /** Begins to compare. A comparison that was in progress is forgotten. */
  RouteAudit.Mended beginCheck() {
    RouteCheck begun = new RouteCheck();
    check = begun;
    for (Key key : changing.keySet()) {
      Entry entry = entries.get(key);
      if (entry != null) begun.changes(key, slotOf(entry.handle.number()), true);
    }
    return RouteAudit.Mended.NOTHING;
  }

  /** The next page is about to be requested. */
  RouteAudit.Mended beginPage() {
    if (check != null) check.beginPage(changing.keySet());
    return RouteAudit.Mended.NOTHING;
  }

  /** Mends what is wrong with the routes of a page, which are all of filters of this table. */
  RouteAudit.Mended check(List<Route> page) {
    if (check == null) return RouteAudit.Mended.NOTHING;
    int stray = 0;
    int outdated = 0;
    for (Route route : page) {
      Key key = new Key(route.tenant(), route.filter());
      Entry entry = entries.get(key);
      FilterHandle here = entry == null ? null : entry.handle;
      switch (check.find(key, route, here, here == null ? 0 : slotOf(here.number()), incarnation)) {
        case NOTHING -> {}
        case STRAY -> {
          stray++;
          removeRoute(new FilterHandle(route.tenant(), route.filter(), route.handle(), loopCount));
        }
        case OUTDATED -> {
          outdated++;
          if (entry != null) setRoute(entry, false);
        }
      }
    }
    return new RouteAudit.Mended(stray, outdated);
  }

  /** After the last page: sets the routes of the next filters that no page had. Ends the comparison when there are no more. */
  RouteAudit.Mended mendMissing(int slotsMax) {
    if (check == null) return RouteAudit.Mended.NOTHING;
    int mended = 0;
    BitSet missing = check.missing(slotsUsed, slotsMax);
    for (int slot = missing.nextSetBit(1); slot >= 0; slot = missing.nextSetBit(slot + 1)) {
      FilterHandle handle = slot < bySlot.length ? bySlot[slot] : null;
      Entry entry = handle == null ? null : entries.get(Key.of(handle));
      // A route that was refused is set again with the next subscription of its filter.
      if (entry == null || !entry.routed.isDone() || entry.routed.isCompletedExceptionally()) continue;
      mended++;
      setRoute(entry, false);
    }
    if (check.hasEnded(slotsUsed)) check = null;
    return new RouteAudit.Mended(0, mended);
  }

  /** Whether a comparison is in progress. Any thread; may be stale, but not after a step of the comparison. */
  boolean isChecking() {
    return check != null;
  }

  /** Forgets the comparison that is in progress. */
  RouteAudit.Mended endCheck() {
    check = null;
    return RouteAudit.Mended.NOTHING;
  }

  private int slotOf(int number) {
    return number / loopCount;
  }

  private int takeNumber() {
    Integer free = freeSlots.poll();
    int slot = free != null ? free : slotsUsed++;
    return Math.addExact(Math.multiplyExact(slot, loopCount), loop.index());
  }

  private void publish(int number, @Nullable FilterHandle handle) {
    int slot = slotOf(number);
    @Nullable FilterHandle[] slots = bySlot;
    if (slot >= slots.length) {
      slots = Arrays.copyOf(slots, Math.max(slot + 1, slots.length * 2));
      SLOT.setRelease(slots, slot, handle);
      bySlot = slots;
    } else {
      SLOT.setRelease(slots, slot, handle);
    }
  }
}
