package dunlin.broker.fanout;

import dunlin.model.HashRing;
import dunlin.model.Publisher;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The connected members of one shared subscription's group on this frontend; MQTT 5, section 4.8.2.
 *
 * <p>A message that changes the event loop wakes another thread for it. So each loop deals to the members whose connections are
 * its own, as long as they have not had more than the others, and else to those who have had less. The count of messages alone
 * decides this, in short bursts; of the members on one side the one with less waiting is chosen, and one of another side when
 * even that one lags behind.
 */
public final class ShareGroup {
  /*
   * Owner: the loop that the filter hashes to adds and removes members; every loop picks, without a lock. A reader may see a
   * member that has just left: a member is asked on its own loop before it gets anything, and refuses when it is gone.
   * Bounds: as large as the sessions that subscribed. Sides are as many as event loops, each made when it is first needed.
   * Failure: stalled is a hint that any loop sets and clears; a stale one costs a message of QoS 0 its wait, or lets it wait once more.
   */
  /** How many members are looked at when the ones that were picked take nothing. */
  static final int TRIES = 16;

  /** Messages that a member is presumed to take when nothing waits for it; what the session tier grants by default, too. */
  private static final int WINDOW = 256;

  /** Messages that wait for a member's client from which on others are asked too, beside four for each that waits elsewhere. */
  private static final int PATIENCE = 8;

  /** Most messages that are dealt to a side before it is compared with others again. */
  private static final int BURST = 32;

  /** Most messages that are dealt to another side at once. */
  private static final int EVEN_OUT_MAX = 1_024;

  /** Messages a member by which a loop's own side may be ahead: rounds of event loops differ by as much. */
  private static final int AHEAD_MAX = 256;

  /** Messages a member that a side which took less than its share is given later at most. */
  private static final int CATCH_UP_MAX = 1_024;

  private final AtomicReferenceArray<@Nullable GroupSide> sides;

  /** How many members the sides up to each one have, that one included. */
  private volatile int[] upTo;

  /** Only of an ordered group: finds the member that a publisher stays with. */
  private final @Nullable HashRing<Subscriber> ring;

  private volatile boolean stalled;

  ShareGroup(boolean ordered, int loops) {
    this.sides = new AtomicReferenceArray<>(loops);
    this.upTo = new int[loops];
    this.ring = ordered ? new HashRing<>() : null;
  }

  int size() {
    return total(upTo);
  }

  public void add(Subscriber member) {
    int loop = member.session.loop().index();
    GroupSide side = side(loop);
    side.add(member, side.size() == 0 ? highestLevel() : 0);
    count(loop, 1);
    if (ring != null) ring.add(member.session.clientId(), member);
  }

  public void remove(Subscriber member) {
    int loop = member.session.loop().index();
    if (ring != null) ring.remove(member.session.clientId(), member);
    count(loop, -1);
    side(loop).remove(member);
  }

  private void count(int loop, int change) {
    int[] changed = upTo.clone();
    for (int i = loop; i < changed.length; i++) changed[i] += change;
    upTo = changed;
  }

  private static int total(int[] upTo) {
    return upTo[upTo.length - 1];
  }

  private GroupSide side(int loop) {
    GroupSide side = sides.getAcquire(loop);
    return side == null ? newSide(loop) : side;
  }

  private GroupSide newSide(int loop) {
    GroupSide side = new GroupSide();
    GroupSide present = sides.compareAndExchange(loop, null, side);
    return present == null ? side : present;
  }

  private long highestLevel() {
    long highest = 0;
    for (int i = 0; i < sides.length(); i++) {
      GroupSide side = sides.getAcquire(i);
      if (side != null && side.size() > 0) highest = Math.max(highest, side.level());
    }
    return highest;
  }

  /**
   * Picks a member for a message that an event loop hands out.
   *
   * @return null when the group is empty
   */
  @Nullable Subscriber pick(int loop) {
    GroupSide own = side(loop);
    if (own.left <= 0) deal(own);
    own.left--;
    ThreadLocalRandom random = ThreadLocalRandom.current();
    Subscriber member = own.target.pick(random);
    if (member != null && member.session.load() < own.patience) return member;
    if (member == null) own.left = 0; // everybody there has left
    Subscriber better = GroupSide.lessLoaded(member, own.rival().pick(random));
    if (better == null) return any();
    return better.session.load() == Recipient.REFUSES ? oneThatTakes(better) : better;
  }

  /** Decides which side the next messages of a loop go to. */
  private void deal(GroupSide own) {
    int[] counts = upTo;
    ThreadLocalRandom random = ThreadLocalRandom.current();
    if (own.size() < total(counts)) {
      GroupSide drawn = own.orForeign(draw(counts, random));
      own.foreign = GroupSide.lower(drawn, own.orForeign(draw(counts, random)));
    }
    GroupSide foreign = own.foreign;
    long level = foreign.level();
    long ahead = own.level() - level;
    boolean stay = ahead <= Math.min(AHEAD_MAX, level / 8);
    own.target = stay ? own : foreign;
    // Who has to leave stays away until both are even, so that most rounds need no other loop at all.
    long even = stay || own.size() == 0 ? 0 : Math.min(EVEN_OUT_MAX, ahead / 2 * own.size());
    own.left = (int) Math.max(even, Math.min(BURST, 1 + Math.min(level, own.level()) / 4));
    own.target.deal(own.left);

    Subscriber elsewhere = own.rival().pick(random);
    long waits = elsewhere == null ? 0 : elsewhere.session.load();
    own.patience = (int) Math.min(Recipient.REFUSES, PATIENCE + 4 * waits);
    if (own.size() == 0 || foreign.size() == 0) return;
    if (ahead > CATCH_UP_MAX) foreign.raise(own.level() - CATCH_UP_MAX);
    else if (ahead < -CATCH_UP_MAX) own.raise(level - CATCH_UP_MAX);
  }

  /** The side of a random member: a side is drawn the more often, the more members it has. */
  private GroupSide draw(int[] counts, ThreadLocalRandom random) {
    return side(sideOf(random.nextInt(total(counts)), counts));
  }

  private static int sideOf(int place, int[] counts) {
    int side = 0;
    while (counts[side] <= place) side++;
    return side;
  }

  /** Of two random members on any side the one with less waiting; null when the group is empty. */
  private @Nullable Subscriber any() {
    int count = size();
    if (count == 0) return null;
    ThreadLocalRandom random = ThreadLocalRandom.current();
    Subscriber picked = GroupSide.lessLoaded(at(random.nextInt(count)), at(random.nextInt(count)));
    return picked == null ? first() : picked;
  }

  private @Nullable Subscriber first() {
    for (int i = 0; i < sides.length(); i++) {
      GroupSide side = sides.getAcquire(i);
      Subscriber member = side == null ? null : side.at(0);
      if (member != null) return member;
    }
    return null;
  }

  /** Another member than one that takes nothing now; that one when no other was found that does. */
  private Subscriber oneThatTakes(Subscriber refusing) {
    int count = size();
    if (count == 0) return refusing;
    int from = ThreadLocalRandom.current().nextInt(count);
    for (int i = 0; i < Math.min(count, TRIES); i++) {
      Subscriber member = at((from + i) % count);
      if (member != null && member.session.load() < Recipient.REFUSES) return member;
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
    Subscriber member = any();
    if (member == null) return 0;
    int load = member.session.load();
    if (load == Recipient.REFUSES) load = oneThatTakes(member).session.load();
    if (load == Recipient.REFUSES) return 0;
    return Math.clamp((long) size() * (WINDOW - load), 2, Integer.MAX_VALUE);
  }

  /** The member at a place, to try one after the other; null when it has left since. */
  @Nullable Subscriber at(int place) {
    int[] counts = upTo;
    if (place >= total(counts)) return null;
    int side = sideOf(place, counts);
    return side(side).at(side == 0 ? place : place - counts[side - 1]);
  }
}
