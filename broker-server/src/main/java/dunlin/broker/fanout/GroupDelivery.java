package dunlin.broker.fanout;

import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Loop;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.runtime.Failures;
import dunlin.store.OutcomeUnknownException;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.TierAnswers;
import dunlin.transport.trace.Trace.Step;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Finds the member of a shared subscription's group that takes a message; there is one object for each event loop. MQTT
 * 5, section 4.8.2.
 *
 * <p>A member is picked on the loop that the message comes from and offered the message on its own loop. If it refuses,
 * because it has left, cannot be written to or has no room for a message of this size, the next member is tried there.
 * If no member takes it, a message of QoS 1 or 2 goes to the durable members; without those it waits, and the
 * publisher's acknowledgement with it, until a member takes it or its time is up. A message of QoS 0 waits for a short
 * time, during which its publisher is not read from. A publisher with too many waiting messages of QoS 1 and 2 is not
 * read from either. So a group that gets more messages than it takes slows down only its own publishers.
 *
 * <p>In an ordered group, a publisher's messages go to one member. They wait in a separate line, so that a member that
 * takes nothing delays only its own publishers, and later messages do not overtake waiting ones.
 */
public final class GroupDelivery {
  /*
   * Owner: the event loop.
   * Bounds: each copy that no member took at once holds credit of its lane until it is settled, or goes back to the dist
   * tier, which bounds what it keeps: its answer may take minutes. Between two waits, a
   * message changes its loop at most PASSES_MAX times. In addition, the bytes of QoS 0 that wait on the loop on which
   * they arrived are bounded; further messages are dropped and counted. A round tries LINES_A_ROUND lines, so with more
   * lines a message may wait longer than its time, by one round for each LINES_A_ROUND of them.
   * Failure: a message that the session tier does not accept is tried again until its time is up; that of a recorded exchange with the
   * session tier alone while it is unknown whether it is stored there. QoS 2 without such an exchange could not be recognised, so it is not tried again
   * then. What is not tried again is dropped and counted, and a publisher that waits for an answer gets an error. What the last member has left behind goes back to the dist tier, unless this is the only frontend;
   * it is dropped and counted when there is no member anywhere, or none is reached. A group in which a message of QoS 0 waited in
   * vain is stalled: further ones are dropped at once, until a member takes a message again.
   */
  static final int PASSES_MAX = 2;

  private static final int RETRY_MILLIS = 5;
  private static final int LINES_A_ROUND = 128;

  /**
   * How many messages at the front of an unordered line are tried, so that one that is too large does not delay the
   * others.
   */
  private static final int LOOK_AHEAD = 8;

  private static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long LOOK_AT_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final Loop loop;
  private final LongSupplier nanoTime;
  private final Map<GroupLine.Place, GroupLine> lines = new HashMap<>();

  /** The lines in the order in which they are tried. */
  private final ArrayDeque<GroupLine> turns = new ArrayDeque<>();

  private final List<GroupCopy> passedOver = new ArrayList<>(LOOK_AHEAD);
  private boolean retryDue;

  /** Copies that began here minus copies that ended here: a copy that moved to another loop counts where it began. */
  private int unsettled;

  /** Bytes of QoS 0 messages that arrived on this loop and wait here. */
  private long bytesUnacknowledged;

  private long lookAtAgeNanos;
  private volatile long oldestWaitNanos;

  /** @param nanoTime a clock that never steps, in nanoseconds */
  GroupDelivery(Loop loop, LongSupplier nanoTime) {
    this.loop = loop;
    this.nanoTime = nanoTime;
    this.lookAtAgeNanos = nanoTime.getAsLong();
  }

  /**
   * The balance of this loop. Only the sum over all loops is the number of copies: each counts +1 where it begins and
   * -1 where it ends.
   */
  public int unsettled() {
    return unsettled;
  }

  /** The longest wait of a message on this loop, up to some tenths of a second old; any thread. */
  public double oldestWaitSeconds() {
    return oldestWaitNanos / 1e9;
  }

  // ------------------------------------------------------------------------------------------------------ finding a member

  /**
   * Delivers a message to one member.
   *
   * @param feedback the publisher's feedback, called while the message waits on this loop; null if the publisher cannot
   *     be held back
   * @param acknowledgement expecting one answer for this, whatever the QoS; null for none
   */
  public void dispatch(Publication message, FilterHandle filter, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    GroupLine ahead = lines.isEmpty() ? null : lines.get(GroupLine.Place.of(message, filter));
    Subscriber member = ahead == null ? pick(message, filter) : null;
    boolean here = member != null && member.session.loop() == loop;
    if (member != null && here && offerTo(member, message)) {
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
      return;
    }
    GroupCopy copy = new GroupCopy(message, filter, acknowledgement, loop, feedback);
    unsettled++;
    loop.window().take(copy.size());
    if (ahead != null) {
      waitForRoom(copy);
    } else if (member != null && !here && mayTake(member, message)) {
      passOn(copy, member);
    } else {
      refused(copy);
    }
  }

  private @Nullable Subscriber pick(Publication message, FilterHandle filter) {
    ShareGroup group = groupOf(filter);
    return filter.filter().ordered() ? group.pickFor(message.publisher()) : group.pick(loop.index());
  }

  /** Offers a message from another loop to a member of this loop, and to other members if that one refuses. */
  void arrived(GroupCopy copy) {
    Subscriber member = Objects.requireNonNull(copy.member, "passed on to no member");
    copy.member = null;
    boolean behind = copy.ordered() && lines.containsKey(GroupLine.Place.of(copy.message, copy.filter));
    if (behind) waitForRoom(copy);
    else if (offerTo(member, copy.message)) taken(copy);
    else refused(copy);
  }

  private boolean offerTo(Subscriber member, Publication message) {
    if (!mayOffer() || !member.session.offerShared(message, member)) return false;
    member.takes();
    groupOf(member.filter).takes(loop.index());
    return true;
  }

  /** A broker that has lost its lease offers nothing: it may have stood still, and the message, from its sockets, have been dealt elsewhere by then. Its members are about to be disconnected. */
  private boolean mayOffer() {
    return loop.tiers().leased().getAsBoolean();
  }

  private boolean mayTake(Subscriber member, Publication message) {
    return mayOffer() && member.session.mayTake(message.qos().min(member.options().maximumQoS()), message.body().length);
  }

  private void refused(GroupCopy copy) {
    if (belongsElsewhere(copy)) {
      redeal(copy);
    } else if (copy.ordered()) {
      waitForRoom(copy);
    } else if (!offerToOthers(copy)) {
      if (copy.acknowledged()) askSessionTier(copy);
      else waitForRoom(copy);
    }
  }

  /** Answers whether a member here has taken it, or it was passed to another loop with a member that has room. */
  private boolean offerToOthers(GroupCopy copy) {
    ShareGroup group = groupOf(copy.filter);
    int size = group.size();
    if (size == 0) return false;
    int start = ThreadLocalRandom.current().nextInt(size);
    Subscriber elsewhere = null;
    for (int i = 0; i < Math.min(size, ShareGroup.TRIES); i++) {
      Subscriber member = group.at((start + i) % size);
      if (member == null) continue;
      if (member.session.loop() != loop) {
        if (copy.passes < PASSES_MAX && mayTake(member, copy.message)) elsewhere = member;
      } else if (offerTo(member, copy.message)) {
        taken(copy);
        return true;
      }
    }
    if (elsewhere == null) return false;
    passOn(copy, elsewhere);
    return true;
  }

  private void passOn(GroupCopy copy, Subscriber member) {
    leaves(copy);
    copy.feedback = null;
    copy.member = member;
    copy.passes++;
    loop.batchTo(member.session.loop()).addUncredited(copy.message, copy);
  }

  // ------------------------------------------------------------------------------------------------------ the session tier

  /** Offers it to the durable members, which have an inbox for messages that they cannot take now. */
  private void askSessionTier(GroupCopy copy) {
    if (goesBack(copy)) return;
    leaves(copy);
    copy.asked = true;
    copy.askAgainNanos = nanoTime.getAsLong() + ASK_AGAIN_NANOS;
    loop.tiers().inbox().appendToGroup(copy.filter.filter(), copy.message, copy.exchange()).whenComplete(
        (taken, failure) -> loop.run(() -> sessionTierAnswered(copy, taken, failure)));
  }

  /**
   * Returns it to the dist tier if it belongs to a recorded exchange and this broker has lost its lease: it may have come long ago, the exchange be released since, and with it the record by which the session
   * tier would recognise it. Unless the tier may have it: then that has to be found out.
   */
  private boolean goesBack(GroupCopy copy) {
    if (copy.acknowledgement == null || copy.mayBeStored || mayOffer() || copy.exchange() == null) return false;
    settle(copy);
    copy.acknowledgement.answer(ReasonCode.USE_ANOTHER_SERVER);
    return true;
  }

  private void sessionTierAnswered(GroupCopy copy, @Nullable Boolean taken, @Nullable Throwable failure) {
    GroupLine line = copy.ordered() ? lines.get(GroupLine.Place.of(copy.message, copy.filter)) : null;
    if (line != null) line.firstIsAtSessionTier = false;
    if (failure == null) {
      copy.mayBeStored = false;
    } else {
      loop.meters().storeFailed();
      if (Failures.unwrapped(failure) instanceof OutcomeUnknownException) {
        if (copy.exchange() != null) {
          copy.mayBeStored = true;
        } else if (copy.message.qos() == QoS.EXACTLY_ONCE) {
          drop(copy, TierAnswers.NO_MEMBER);
          return;
        }
      }
    }
    if (failure == null && Boolean.TRUE.equals(taken)) {
      taken(copy);
    } else if (failure == null && groupOf(copy.filter).size() == 0) {
      lastMemberLeft(copy);
    } else if (line == null) {
      waitForRoom(copy);
    } else {
      enters(copy);
      line.putBack(copy);
    }
  }

  // ----------------------------------------------------------------------------------------------------------- the end
  // of a copy

  /**
   * To the publisher this is a message without subscribers, unless there are other frontends. They may have members, so it is returned
   * to the dist tier, which looks for another one.
   */
  private void lastMemberLeft(GroupCopy copy) {
    if (belongsElsewhere(copy)) {
      redeal(copy);
      return;
    }
    if (loop.tiers().alone() || copy.acknowledgement == null || !copy.acknowledged()) {
      drop(copy, ReasonCode.SUCCESS);
      return;
    }
    settle(copy);
    copy.acknowledgement.answer(ReasonCode.USE_ANOTHER_SERVER);
  }

  /** Whether a member has left it behind, and there is no other one here. */
  private boolean belongsElsewhere(GroupCopy copy) {
    return copy.isLeftBehind() && !loop.tiers().alone() && groupOf(copy.filter).size() == 0;
  }

  /**
   * Has the dist tier find another member, since it knows those at other frontends, and the durable ones. To the publisher the exchange of QoS 2 has brought the message here;
   * so it goes on without it. A repetition would not be recognised then: the message is lost, and counted, when it is unknown whether a member has it.
   */
  private void redeal(GroupCopy copy) {
    leaves(copy);
    giveCredit(copy); // the tier bounds what it keeps, and publishers do not wait for it
    loop.tiers().dist().redeal(
        copy.message.withoutExchange(), copy.filter.filter(),
        new Acknowledgement() {
          @Override
          protected void complete(ReasonCode reason) {
            boolean found = matched();
            loop.post(() -> redealt(copy, found, reason));
          }
        });
  }

  private void redealt(GroupCopy copy, boolean found, ReasonCode reason) {
    if ((found && !reason.isError()) || reason == TierAnswers.NO_MEMBER) settle(copy); // the latter is counted where members have let it wait in vain
    else drop(copy, reason);
  }

  private void taken(GroupCopy copy) {
    settle(copy);
    if (copy.acknowledgement != null) copy.acknowledgement.answer(ReasonCode.SUCCESS);
  }

  /** Drops it for a reason; QoS 0 has no error. */
  private void drop(GroupCopy copy, ReasonCode reason) {
    settle(copy);
    loop.counts().copies().received(copy.message, null);
    boolean busy = reason == ReasonCode.SERVER_BUSY || reason == ReasonCode.SERVER_UNAVAILABLE;
    loop.counts().copies().dropped(busy ? DropReason.OVERLOADED : DropReason.NO_MEMBER, copy.message, null);
    if (copy.acknowledgement == null) return;
    copy.acknowledgement.dropped(copy.acknowledged() ? reason : ReasonCode.SUCCESS);
  }

  private void settle(GroupCopy copy) {
    leaves(copy);
    unsettled--;
    giveCredit(copy);
  }

  /** Returns the credit of a copy, once; only here. */
  private void giveCredit(GroupCopy copy) {
    if (!copy.holdsCredit) return;
    copy.holdsCredit = false;
    if (copy.lane == loop) loop.window().give(1, copy.size());
    else loop.batchTo(copy.lane).giveCredit(1, copy.size());
  }

  // --------------------------------------------------------------------------------------------------------------- waiting

  /** Lets it wait in its line; a QoS 0 message waits only if that may help. */
  private void waitForRoom(GroupCopy copy) {
    if (!copy.acknowledged() && waitIsInVain(copy)) {
      drop(copy, ReasonCode.SUCCESS);
      return;
    }
    if (!copy.hasDeadline) {
      copy.hasDeadline = true;
      copy.deadlineNanos = nanoTime.getAsLong() + waitOf(copy.acknowledged()).toNanos();
    }
    copy.passes = 0;
    loop.counts().copies().note(Step.WAITS, copy.filter.filter().text(), copy.message, null);
    enters(copy);
    lines.computeIfAbsent(GroupLine.Place.of(copy.message, copy.filter), this::newLine).add(copy);
    retrySoon();
  }

  private boolean waitIsInVain(GroupCopy copy) {
    ShareGroup group = groupOf(copy.filter);
    FrontendSettings.GroupWaits waits = waits();
    boolean full = copy.lane == loop && bytesUnacknowledged + copy.size() > waits.unacknowledgedBytesMax();
    return group.size() == 0 || group.stalled() || full || waits.unacknowledged().isZero();
  }

  private FrontendSettings.GroupWaits waits() {
    return loop.settings().groupWaits();
  }

  private Duration waitOf(boolean acknowledged) {
    return acknowledged ? waits().acknowledged() : waits().unacknowledged();
  }

  private GroupLine newLine(GroupLine.Place place) {
    GroupLine line = new GroupLine(place);
    turns.add(line);
    return line;
  }

  private void enters(GroupCopy copy) {
    copy.waits = true;
    if (!copy.acknowledged() && copy.lane == loop) bytesUnacknowledged += copy.size();
    if (copy.feedback != null) copy.feedback.waits(copy.message.qos(), copy.size());
  }

  private void leaves(GroupCopy copy) {
    if (!copy.waits) return;
    copy.waits = false;
    if (!copy.acknowledged() && copy.lane == loop) bytesUnacknowledged -= copy.size();
    if (copy.feedback != null) copy.feedback.waitsNoLonger(copy.message.qos(), copy.size());
  }

  private void retrySoon() {
    if (retryDue) return;
    retryDue = true;
    loop.executor().schedule(this::retryWaiting, RETRY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Tries some lines. */
  private void retryWaiting() {
    retryDue = false;
    loop.readClock();
    long now = nanoTime.getAsLong();
    for (int left = Math.min(LINES_A_ROUND, turns.size()); left > 0; left--) {
      GroupLine line = turns.remove();
      if (line.ordered()) tryInOrder(line, now);
      else tryAny(line, now);
      if (line.isDone()) lines.remove(line.place);
      else turns.add(line);
    }
    if (now - lookAtAgeNanos >= 0 || turns.isEmpty()) lookAtAge(now);
    if (!turns.isEmpty()) retrySoon();
  }

  private void tryInOrder(GroupLine line, long now) {
    while (!line.firstIsAtSessionTier) {
      GroupCopy first = line.poll();
      if (first == null) return;
      if (!retry(first, line, now)) {
        line.putBack(first);
        return;
      }
    }
  }

  private void tryAny(GroupLine line, long now) {
    while (passedOver.size() < LOOK_AHEAD) {
      GroupCopy next = line.poll();
      if (next == null) break;
      if (!retry(next, line, now)) passedOver.add(next);
    }
    passedOver.forEach(line::putBack);
    passedOver.clear();
  }

  /** Tries to find a member for a waiting copy; answers whether it left this line. */
  private boolean retry(GroupCopy copy, GroupLine line, long now) {
    ShareGroup group = groupOf(copy.filter);
    if (belongsElsewhere(copy)) {
      redeal(copy);
      return true;
    }
    if (now - copy.deadlineNanos >= 0) {
      if (!copy.acknowledged()) group.stalls();
      drop(copy, TierAnswers.NO_MEMBER);
      return true;
    }
    if (!copy.acknowledged() && group.size() == 0) {
      drop(copy, ReasonCode.SUCCESS);
      return true;
    }
    if (!copy.mayBeStored) {
      if (copy.ordered() && group.size() > 0) return retryWithItsMember(copy, group);
      if (!copy.ordered() && offerToOthers(copy)) return true;
    }
    if (!copy.acknowledged() || (copy.asked && now - copy.askAgainNanos < 0)) return false;
    if (goesBack(copy)) return true;
    line.firstIsAtSessionTier = copy.ordered();
    askSessionTier(copy);
    return true;
  }

  /** In an ordered group, a publisher's messages wait for its member, as long as it has one. */
  private boolean retryWithItsMember(GroupCopy copy, ShareGroup group) {
    Subscriber member = group.pickFor(copy.message.publisher());
    if (member == null) return false;
    if (member.session.loop() == loop) {
      if (!offerTo(member, copy.message)) return false;
      taken(copy);
      return true;
    }
    if (!mayTake(member, copy.message)) return false;
    passOn(copy, member);
    return true;
  }

  private void lookAtAge(long now) {
    lookAtAgeNanos = now + LOOK_AT_AGE_NANOS;
    long oldest = 0;
    for (GroupLine line : turns) {
      GroupCopy first = line.peek();
      if (first == null) continue;
      long begun = first.deadlineNanos - waitOf(first.acknowledged()).toNanos();
      oldest = Math.max(oldest, now - begun);
    }
    oldestWaitNanos = oldest;
  }

  private static ShareGroup groupOf(FilterHandle filter) {
    ShareGroup group = filter.group();
    if (group == null) throw new IllegalStateException("not a shared subscription: " + filter.filter().text());
    return group;
  }
}
