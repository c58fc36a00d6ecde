package dunlin.inbox;

import dunlin.model.TopicFilter;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The sessions with a plain subscription of one topic filter. */
final class FilterSubscribers {
  /*
   * Owner: the applying thread writes, any thread reads without a lock. Adding and removing are O(1) on average: slots
   * fill from the front, removed ones stay empty until half of them are, then the live ones move to a new array. A
   * reader keeps the array that it began with, so it sees nobody twice.
   * Bounds: twice the live subscribers.
   */
  private static final int SLOTS_MIN = 2;
  private static final int SCAN_MAX = 16;

  /** What all of them have, so that each need not have a copy. */
  final TopicFilter filter;

  private volatile AtomicReferenceArray<DurableSubscriber> slots = new AtomicReferenceArray<>(SLOTS_MIN);

  private int used;
  private int live;

  /** How many there are in each bucket; null while they are few enough to look through. */
  private int @Nullable [] perBucket;

  FilterSubscribers(TopicFilter filter) {
    this.filter = filter;
  }

  void forEach(Consumer<DurableSubscriber> visitor) {
    var array = slots;
    for (int i = 0; i < array.length(); i++) {
      DurableSubscriber subscriber = array.get(i);
      if (subscriber != null) visitor.accept(subscriber);
    }
  }

  boolean isEmpty() {
    return live == 0;
  }

  /** Adds a subscriber that is not there. Answers whether it is the first one of its bucket. */
  boolean add(DurableSubscriber subscriber, int buckets) {
    if (used == slots.length()) compact();
    boolean first = !hasBucket(subscriber.session.bucket);
    subscriber.slot = used;
    slots.set(used++, subscriber);
    live++;
    if (perBucket != null) {
      perBucket[subscriber.session.bucket]++;
    } else if (live > SCAN_MAX) {
      var counts = new int[buckets];
      forEach(each -> counts[each.session.bucket]++);
      perBucket = counts;
    }
    return first;
  }

  /** Removes a subscriber that is there. Answers whether it was the last one of its bucket. */
  boolean remove(DurableSubscriber subscriber) {
    assert slots.get(subscriber.slot) == subscriber : "a subscriber in another's place";
    slots.set(subscriber.slot, null);
    live--;
    if (perBucket != null) perBucket[subscriber.session.bucket]--;
    if (used > SLOTS_MIN && live < used / 2) compact();
    return !hasBucket(subscriber.session.bucket);
  }

  private boolean hasBucket(int bucket) {
    if (perBucket != null) return perBucket[bucket] > 0;
    var array = slots;
    for (int i = 0; i < used; i++) {
      DurableSubscriber subscriber = array.get(i);
      if (subscriber != null && subscriber.session.bucket == bucket) return true;
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
