package dunlin.inbox.state;

import dunlin.inbox.rows.ShardInterval;
import dunlin.model.TopicFilter;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The sessions with a non-shared subscription of one topic filter. */
public final class FilterSubscribers {
  /*
   * Owner: the applying thread writes, any thread reads without a lock. Adding and removing are O(1) on average: slots
   * are filled from the front, and removed ones stay empty until half of all are empty; then the remaining subscribers
   * are copied to a new array. A reader keeps the array that it began with, so it sees no subscriber twice.
   * Bounds: twice the live subscribers.
   */
  private static final int SLOTS_MIN = 2;
  private static final int SCAN_MAX = 16;

  /** The filter of all these subscriptions, shared so that no subscription has its own copy. */
  public final TopicFilter filter;

  private volatile AtomicReferenceArray<DurableSubscriber> slots = new AtomicReferenceArray<>(SLOTS_MIN);

  private int used;
  private int live;

  /** Number of subscribers in each shard of the range; null while they are few enough to scan. */
  private int @Nullable [] perShard;

  public FilterSubscribers(TopicFilter filter) {
    this.filter = filter;
  }

  /** Visits the subscribers. Any thread. */
  public void forEach(Consumer<DurableSubscriber> visitor) {
    var array = slots;
    for (int i = 0; i < array.length(); i++) {
      DurableSubscriber subscriber = array.get(i);
      if (subscriber != null) visitor.accept(subscriber);
    }
  }

  public boolean isEmpty() {
    return live == 0;
  }

  /** Adds a new subscriber. Answers whether it is the first one of its shard. */
  public boolean add(DurableSubscriber subscriber, ShardInterval interval) {
    if (used == slots.length()) compact();
    int shard = subscriber.session.shard - interval.from();
    boolean first = !hasShard(shard, interval);
    subscriber.slot = used;
    slots.set(used++, subscriber);
    live++;
    if (perShard != null) {
      perShard[shard]++;
    } else if (live > SCAN_MAX) {
      var counts = new int[interval.size()];
      forEach(each -> counts[each.session.shard - interval.from()]++);
      perShard = counts;
    }
    return first;
  }

  /** Removes a subscriber. Answers whether it was the last one of its shard. */
  public boolean remove(DurableSubscriber subscriber, ShardInterval interval) {
    assert slots.get(subscriber.slot) == subscriber : "a subscriber in another's place";
    slots.set(subscriber.slot, null);
    live--;
    int shard = subscriber.session.shard - interval.from();
    if (perShard != null) perShard[shard]--;
    if (used > SLOTS_MIN && live < used / 2) compact();
    return !hasShard(shard, interval);
  }

  /** @param shard the shard, counted from the first one of the range */
  private boolean hasShard(int shard, ShardInterval interval) {
    if (perShard != null) return perShard[shard] > 0;
    var array = slots;
    for (int i = 0; i < used; i++) {
      DurableSubscriber subscriber = array.get(i);
      if (subscriber != null && subscriber.session.shard - interval.from() == shard) return true;
    }
    return false;
  }

  private void compact() {
    var old = slots;
    var next = new AtomicReferenceArray<DurableSubscriber>(Math.max(SLOTS_MIN, live * 2));
    int end = 0;
    for (int i = 0; i < used; i++) {
      DurableSubscriber subscriber = old.get(i);
      if (subscriber == null) continue;
      subscriber.slot = end;
      next.set(end++, subscriber);
    }
    used = end;
    slots = next;
  }
}
