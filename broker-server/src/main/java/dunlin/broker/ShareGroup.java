package dunlin.broker;

import dunlin.model.HashRing;
import dunlin.model.Publisher;
import dunlin.model.Roster;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The connected members of one shared subscription's group on this frontend; MQTT 5, section 4.8.2. */
final class ShareGroup {
  /*
   * Owner: the loop that the filter hashes to adds and removes members; every loop picks, without a lock. A reader may see a
   * member that has just left: a member is asked on its own loop before it gets anything, and refuses when it is gone.
   * Bounds: as large as the sessions that subscribed.
   * Failure: stalled is a hint that any loop sets and clears; a stale one costs a message of QoS 0 its wait, or lets it wait once more.
   */
  /** How many members are looked at when the ones that were picked take nothing. */
  static final int TRIES = 16;

  /** Messages that a member is presumed to take when nothing waits for it; what the session tier grants by default, too. */
  private static final int WINDOW = 256;

  private final Roster<Subscriber> members = new Roster<>();

  /** Only of an ordered group: finds the member that a publisher stays with. */
  private final @Nullable HashRing<Subscriber> ring;

  private volatile boolean stalled;

  ShareGroup(boolean ordered) {
    this.ring = ordered ? new HashRing<>() : null;
  }

  int size() {
    return members.size();
  }

  void add(Subscriber member) {
    members.add(member);
    if (ring != null) ring.add(member.session.clientId(), member);
  }

  void remove(Subscriber member) {
    if (ring != null) ring.remove(member.session.clientId(), member);
    members.remove(member);
  }

  /**
   * Picks a member by the power of two choices: of two random ones, the one with less waiting for its client; when neither takes
   * anything now, another one that does.
   *
   * @return null when the group is empty
   */
  @Nullable Subscriber pick() {
    int count = members.size();
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
    Subscriber better = other.session.load() < one.session.load() ? other : one;
    return better.session.load() == LiveSession.REFUSES ? oneThatTakes(better, first) : better;
  }

  /** Another member than one that takes nothing now; that one when no other was found that does. */
  private Subscriber oneThatTakes(Subscriber refusing, int from) {
    int count = members.size();
    for (int i = 1; i <= Math.min(count, TRIES); i++) {
      Subscriber member = at((from + i) % count);
      if (member != null && member.session.load() < LiveSession.REFUSES) return member;
    }
    return refusing;
  }

  /** A member has taken a message. */
  void takes() {
    if (stalled) stalled = false;
  }

  /** A message of QoS 0 has waited in vain. */
  void stalls() {
    stalled = true;
  }

  /** Whether no member has taken anything since a message of QoS 0 waited in vain. */
  boolean stalled() {
    return stalled;
  }

  /** The member that a publisher stays with in an ordered group ({@code $oshare}), or null when there is none. */
  @Nullable Subscriber pickFor(Publisher publisher) {
    return ring == null ? null : ring.find(publisher.clientId());
  }

  /** An estimate of how much all members take: none with 0, otherwise more than 1. */
  int credit() {
    int count = members.size();
    Subscriber member = pick();
    if (member == null) return 0;
    int load = member.session.load();
    if (load == LiveSession.REFUSES) return 0;
    return Math.clamp((long) count * (WINDOW - load), 2, Integer.MAX_VALUE);
  }

  /** The member at a place, to try one after the other; null when it has left meanwhile. */
  @Nullable Subscriber at(int place) {
    return members.at(place);
  }
}
