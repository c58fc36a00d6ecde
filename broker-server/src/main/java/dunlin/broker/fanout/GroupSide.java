package dunlin.broker.fanout;

import dunlin.model.Roster;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The members of a group whose connections are on one event loop, and the number of messages dealt to them. */
final class GroupSide {
  /*
   * Owner: the group's owner adds and removes members; left, target, foreign, patience and the writing of taken belong to the event loop;
   * every loop picks and deals.
   * Bounds: as large as the sessions that subscribed.
   * Failure: the number dealt is an estimate, because several threads count concurrently. It only steers the
   * distribution, and differences are evened out later.
   */
  private final Roster<Subscriber> members = new Roster<>();

  /** Messages given to this side, or counted as given so that a side that joins late does not have to catch up. */
  private final AtomicLong dealt = new AtomicLong();

  /** Messages that members here have taken: all of them, and only these. Written by the event loop, so that it costs no more than an addition. */
  private final AtomicLong taken = new AtomicLong();

  /** How many of the next messages that this loop hands out go to the target. */
  int left;

  GroupSide target = this;

  /** The other side that this one was last compared with. */
  GroupSide foreign = this;

  /** How many messages may wait for a member of the target before members of {@link #rival} are tried as well. */
  int patience;

  /** The side whose members are tried when those of the target lag behind. */
  @SuppressWarnings("ReferenceEquality") // compares identity
  GroupSide rival() {
    return target == this ? foreign : this;
  }

  /** The side to compare this one with: the one that was drawn, or the previous one if this one itself was drawn. */
  @SuppressWarnings("ReferenceEquality") // as above
  GroupSide orForeign(GroupSide drawn) {
    return drawn == this ? foreign : drawn;
  }

  int size() {
    return members.size();
  }

  @Nullable Subscriber at(int place) {
    return members.at(place);
  }

  /**
   * Adds a member. It counts as having had as many messages as the others here, or as those on other sides if it is the
   * first.
   */
  void add(Subscriber member, long levelElsewhere) {
    long level = size() == 0 ? levelElsewhere : level();
    members.add(member);
    dealt.set(level * size());
  }

  void remove(Subscriber member) {
    long level = level();
    members.remove(member);
    dealt.set(level * size());
  }

  /** Messages dealt per member; more than any other side if there is no member. */
  long level() {
    int count = size();
    return count == 0 ? Long.MAX_VALUE / 2 : dealt.get() / count;
  }

  /** The side whose members have had fewer messages. */
  static GroupSide lower(GroupSide one, GroupSide other) {
    return other.level() < one.level() ? other : one;
  }

  void deal(int messages) {
    dealt.getAndAdd(messages);
  }

  /** Notes, on the event loop, that a member has taken a message. */
  void takes() {
    taken.setOpaque(taken.getPlain() + 1);
  }

  /** How many messages members here have taken; any thread. */
  long taken() {
    return taken.getOpaque();
  }

  /** Raises the level of this side to at least a number of messages per member. */
  void raise(long level) {
    dealt.set(level * size());
  }

  /** Of two random members, the one with fewer waiting messages; null if there is none. */
  @Nullable Subscriber pick(ThreadLocalRandom random) {
    int count = size();
    if (count == 0) return null;
    if (count == 1) return at(0);
    int first = random.nextInt(count);
    int second = random.nextInt(count - 1);
    if (second >= first) second++;
    return lessLoaded(at(first), at(second));
  }

  /** The member with fewer waiting messages; null only if both have left. */
  static @Nullable Subscriber lessLoaded(@Nullable Subscriber one, @Nullable Subscriber other) {
    if (one == null) return other;
    if (other == null) return one;
    return other.session.load() < one.session.load() ? other : one;
  }
}
