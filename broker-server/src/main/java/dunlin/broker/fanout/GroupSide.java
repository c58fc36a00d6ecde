package dunlin.broker.fanout;

import dunlin.model.Roster;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The members of a group whose connections are on one event loop, and how much has been dealt to them. */
final class GroupSide {
  /*
   * Owner: the group's owner adds and removes members; left, target, foreign and patience belong to the event loop; every loop picks and deals.
   * Bounds: as large as the sessions that subscribed.
   * Failure: what is dealt is an estimate, for counts of several threads cross each other; it only steers, and is evened out later.
   */
  private final Roster<Subscriber> members = new Roster<>();

  /** Messages given to this side, or counted as given so that a side that joins late has nothing to catch up. */
  private final AtomicLong dealt = new AtomicLong();

  /** How many more messages that this loop hands out go to the target. */
  int left;

  GroupSide target = this;

  /** The other side that this one was compared with last. */
  GroupSide foreign = this;

  /** What may wait for a member of the target before that. */
  int patience;

  /** Whose members are asked when those of the target lag behind. */
  @SuppressWarnings("ReferenceEquality") // sides are told apart by themselves
  GroupSide rival() {
    return target == this ? foreign : this;
  }

  /** A side that this one is to be compared with: the one that was drawn, or the last one when it is this one itself. */
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

  /** Adds a member that has had as much as the others here, or on other sides when it is the first. */
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

  /** Messages for each member; more than any other side has when there is no member. */
  long level() {
    int count = size();
    return count == 0 ? Long.MAX_VALUE / 2 : dealt.get() / count;
  }

  /** The one whose members have had less. */
  static GroupSide lower(GroupSide one, GroupSide other) {
    return other.level() < one.level() ? other : one;
  }

  void deal(int messages) {
    dealt.getAndAdd(messages);
  }

  /** Forgets that this side has had less than so much a member. */
  void raise(long level) {
    dealt.set(level * size());
  }

  /** Of two random members the one with less waiting for its client; null when there is none. */
  @Nullable Subscriber pick(ThreadLocalRandom random) {
    int count = size();
    if (count == 0) return null;
    if (count == 1) return at(0);
    int first = random.nextInt(count);
    int second = random.nextInt(count - 1);
    if (second >= first) second++;
    return lessLoaded(at(first), at(second));
  }

  /** The one with less waiting for its client; null only when both have left. */
  static @Nullable Subscriber lessLoaded(@Nullable Subscriber one, @Nullable Subscriber other) {
    if (one == null) return other;
    if (other == null) return one;
    return other.session.load() < one.session.load() ? other : one;
  }
}
