package dunlin.broker;

import dunlin.model.Publisher;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The connected members of one shared subscription's group on this frontend; MQTT 5, section 4.8.2. */
final class ShareGroup {
  /*
   * Owner: the loop that the filter hashes to adds and removes members; every loop picks, without a lock.
   * A member stands at one place of the array; the last one takes the place of a removed one, so joining and leaving take
   * constant time, and a reader may for a moment miss a member or see one that has just left: a member is asked on its own
   * loop before it gets anything, and refuses when it is gone.
   * Bounds: grows by doubling, as large as the sessions that subscribed.
   */
  /** How many members are looked at when the ones that were picked take nothing. */
  static final int TRIES = 16;

  /** Messages that a member is presumed to take when nothing waits for it; what the session tier grants by default, too. */
  private static final int WINDOW = 256;

  private volatile AtomicReferenceArray<@Nullable Subscriber> members = new AtomicReferenceArray<>(2);
  private volatile int size;

  int size() {
    return size;
  }

  void add(Subscriber member) {
    AtomicReferenceArray<@Nullable Subscriber> current = members;
    int at = size;
    if (at == current.length()) {
      AtomicReferenceArray<@Nullable Subscriber> larger = new AtomicReferenceArray<>(at * 2);
      for (int i = 0; i < at; i++) larger.setPlain(i, current.getPlain(i));
      members = current = larger;
    }
    member.position = at;
    current.setRelease(at, member);
    size = at + 1;
  }

  void remove(Subscriber member) {
    int hole = member.position;
    int last = size - 1;
    Subscriber moved = members.getPlain(last);
    assert hole >= 0 && members.getPlain(hole) == member && moved != null : "not in this group";
    moved.position = hole;
    members.setRelease(hole, moved);
    size = last;
    members.setRelease(last, null);
    member.position = -1;
  }

  /**
   * Picks a member by the power of two choices: of two random ones, the one with less waiting for its client.
   *
   * @return null when the group is empty
   */
  @Nullable Subscriber pick() {
    int count = size;
    if (count == 0) return null;
    if (count == 1) return at(0);
    ThreadLocalRandom random = ThreadLocalRandom.current();
    int first = random.nextInt(count);
    int second = random.nextInt(count - 1);
    if (second >= first) second++;
    Subscriber one = at(first);
    Subscriber other = at(second);
    if (one == null) return other == null ? at(0) : other;
    if (other == null) return one;
    return other.session.load() < one.session.load() ? other : one;
  }

  /**
   * Picks the member that a publisher stays with ({@code $oshare}): the one with the highest hash together with the
   * publisher, so that a member that joins or leaves moves only its own share of the publishers.
   */
  @Nullable Subscriber pickFor(Publisher publisher) {
    int count = size;
    long hash = publisher.clientId().hashCode() * 0x9E3779B97F4A7C15L + publisher.tenant().hashCode();
    Subscriber best = null;
    long highest = Long.MIN_VALUE;
    for (int i = 0; i < count; i++) {
      Subscriber member = at(i);
      if (member == null) continue;
      long mixed = (hash ^ member.session.groupHash()) * 0xBF58476D1CE4E5B9L;
      mixed ^= mixed >>> 29;
      if (best == null || mixed > highest) {
        best = member;
        highest = mixed;
      }
    }
    return best;
  }

  /** An estimate of how much all members take: none with 0, otherwise more than 1. */
  int credit() {
    int count = size;
    Subscriber member = pick();
    if (member == null) return 0;
    int load = member.session.load();
    for (int i = 0; load == LiveSession.REFUSES && i < Math.min(count, TRIES); i++) {
      Subscriber other = at(i);
      if (other != null) load = other.session.load();
    }
    if (load == LiveSession.REFUSES) return 0;
    return Math.clamp((long) count * (WINDOW - load), 2, Integer.MAX_VALUE);
  }

  /** The member at a place, to try one after the other; null when it has left meanwhile. */
  @Nullable Subscriber at(int index) {
    AtomicReferenceArray<@Nullable Subscriber> current = members;
    return index < current.length() ? current.getAcquire(index) : null;
  }
}
