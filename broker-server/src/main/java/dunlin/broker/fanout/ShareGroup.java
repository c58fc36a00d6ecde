package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.model.HashRing;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The connected members of one shared subscription's group on this frontend; MQTT 5, section 4.8.2.
 *
 * <p>Passing a message to another event loop wakes another thread. So each loop deals to members on the same loop as
 * long as these have not had more than the others, and otherwise to those who have had fewer. Only the number of
 * messages decides this, in short bursts. Of the members on one side, the one with fewer waiting messages is chosen, or
 * one of another side if even that one lags behind.
 */
public final class ShareGroup {
  /*
   * Owner: the loop that the filter hashes to adds and removes members; every loop picks, without a lock. A reader may
   * see a member that has just left: a message is offered to a member on its own loop, and a member that has left
   * refuses.
   * Bounds: as large as the sessions that subscribed. There are at most as many sides as event loops, each created when
   * it is first needed.
   * Failure: stalled is a hint that any loop sets and clears; if it is stale, a message of QoS 0 is dropped without
   * waiting, or waits once more.
   */
  /** How many members are examined when the picked ones take nothing. */
  static final int TRIES = 16;

  /** Messages that a member is assumed to take when none wait for it; also the default of the session tier. */
  private static final int WINDOW = 256;

  /**
   * Number of messages waiting for a member's client from which on other members are tried too, in addition to four for
   * each message that waits elsewhere.
   */
  private static final int PATIENCE = 8;

  /** Maximum number of messages that are dealt to a side before it is compared with others again. */
  private static final int BURST = 32;

  /** Maximum number of messages that are dealt to another side at once. */
  private static final int EVEN_OUT_MAX = 1_024;

  /** Messages per member by which a loop's own side may be ahead, because rounds of event loops differ by as much. */
  private static final int AHEAD_MAX = 256;

  /** Maximum number of messages per member that a side gets later if it took less than its share. */
  private static final int CATCH_UP_MAX = 1_024;

  private final AtomicReferenceArray<@Nullable GroupSide> sides;

  /** For each side, the number of members of all sides up to and including it. */
  private volatile int[] upTo;

  /** Only in an ordered group: finds the member for a publisher. */
  private final @Nullable HashRing<Subscriber> ring;

  private volatile boolean stalled;

  ShareGroup(boolean ordered, int loops) {
    this.sides = new AtomicReferenceArray<>(loops);
    this.upTo = new int[loops];
    this.ring = ordered ? new HashRing<>() : null;
  }

  /** How many connected members it has; any thread. */
  public int size() {
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
   * @return null if the group is empty
   */
  @Nullable Subscriber pick(int loop) {
    GroupSide own = side(loop);
    if (own.left <= 0) deal(own);
    own.left--;
    ThreadLocalRandom random = ThreadLocalRandom.current();
    Subscriber member = own.target.pick(random);
    if (member != null && member.session.load() < own.patience) return member;
    if (member == null) own.left = 0; // all members there have left
    Subscriber better = GroupSide.lessLoaded(member, own.rival().pick(random));
    if (better == null) return any();
    return better.session.load() == Recipient.REFUSES ? oneThatTakes(better) : better;
  }

  /** Decides to which side the next messages of a loop go. */
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
    // A loop that has to use another side continues until both are even, so that most rounds use no other loop at all.
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

  /** The side of a random member, so that sides with more members are drawn more often. */
  private GroupSide draw(int[] counts, ThreadLocalRandom random) {
    return side(sideOf(random.nextInt(total(counts)), counts));
  }

  private static int sideOf(int place, int[] counts) {
    int side = 0;
    while (counts[side] <= place) side++;
    return side;
  }

  /** Of two random members of all sides, the one with fewer waiting messages; null if the group is empty. */
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

  /** A member to use instead of one that refuses now; the refusing one if no other was found. */
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

  /** Notes that a member on the calling loop has taken a message. */
  void takes(int loop) {
    side(loop).takes();
    if (stalled) stalled = false;
  }

  /** How many messages members have taken since the group has members here; any thread. */
  public long taken() {
    long all = 0;
    for (int i = 0; i < sides.length(); i++) {
      GroupSide side = sides.getAcquire(i);
      if (side != null) all += side.taken();
    }
    return all;
  }

  /** The members, for an operator; any thread. Those that come or go at the same time may be among them or not. */
  public List<Subscriber> members() {
    List<Subscriber> all = new ArrayList<>();
    for (int i = 0; i < sides.length(); i++) {
      GroupSide side = sides.getAcquire(i);
      for (int place = 0; side != null && place < side.size(); place++) {
        Subscriber member = side.at(place);
        if (member != null) all.add(member);
      }
    }
    return all;
  }

  /** Notes that a message of QoS 0 has waited in vain. */
  void stalls() {
    stalled = true;
  }

  /** Whether no member has taken anything since a message of QoS 0 waited in vain. */
  public boolean stalled() {
    return stalled;
  }

  /** How many members of a loop have room for a message of QoS 1 or 2, for an operator; on that loop. One that gets it with QoS 0 may have room. */
  public int taking(Loop loop, QoS qos, int size) {
    assert loop.isCurrent() : "touched off its event loop";
    int taking = 0;
    for (int i = size() - 1; i >= 0; i--) {
      Subscriber member = at(i);
      if (member == null || !member.session.loop().equals(loop)) continue;
      member.session.updateLoad();
      QoS sent = qos.min(member.options().maximumQoS());
      if (sent == QoS.AT_MOST_ONCE || member.session.mayTake(sent, size)) taking++;
    }
    return taking;
  }

  /** The member for a publisher in an ordered group ({@code $oshare}), or null if there is none. */
  @Nullable Subscriber pickFor(Publisher publisher) {
    return ring == null ? null : ring.find(publisher.clientId());
  }

  /** An estimate of how many messages all members take; 0 if there are none, otherwise more than 1. */
  int credit() {
    Subscriber member = any();
    if (member == null) return 0;
    int load = member.session.load();
    if (load == Recipient.REFUSES) load = oneThatTakes(member).session.load();
    if (load == Recipient.REFUSES) return 0;
    return Math.clamp((long) size() * (WINDOW - load), 2, Integer.MAX_VALUE);
  }

  /** The member at an index, to try one after the other; null if it has left. */
  @Nullable Subscriber at(int place) {
    int[] counts = upTo;
    if (place >= total(counts)) return null;
    int side = sideOf(place, counts);
    return side(side).at(side == 0 ? place : place - counts[side - 1]);
  }
}
