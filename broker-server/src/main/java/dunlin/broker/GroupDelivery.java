package dunlin.broker;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.transport.Acknowledgement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Finds the member of a shared subscription's group that takes a message; one for each event loop. MQTT 5, section 4.8.2.
 *
 * <p>A member is picked on the loop that the message comes from and asked on its own loop. When it refuses, for it has left,
 * cannot be written to or has a full queue, the next one is asked there. When none takes it, a message of QoS 1 or 2 goes to the
 * durable members, and if there are none it waits, and with it the publisher's acknowledgement, until a member takes it or the
 * time is up. A message of QoS 0 waits for a short time, in which its publisher is not read from: a group that is fed faster than
 * it takes slows down those who feed it, and nobody else.
 */
final class GroupDelivery {
  /*
   * Owner: the event loop.
   * Bounds: a message is passed on between loops at most so often as there are tries; of QoS 1 and 2, what waits or is at the
   *   session tier is within its lane's window, but for messages of members that have left, which are within their sessions'
   *   bounds. Of QoS 0, one message a publisher waits, bounded in bytes beyond which they are dropped and counted; and those that
   *   another loop passed on to a member that was full by then, which keep the credit of their lane.
   * Failure: what the session tier does not take is tried again until its time is up. A group that has let a message of QoS 0 wait
   *   in vain is stalled: further ones are dropped at once, until a member takes something again.
   */
  private static final int RETRY_MILLIS = 5;

  private final Loop loop;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private boolean retryDue;
  private int atSessionTier;

  /** Bytes of QoS 0 among what waits without credit of a lane. */
  private long bytesWithoutCredit;

  /** Whose message of QoS 0 is being handed out; null when nobody can be held up for it. */
  private @Nullable InboundPublishes publisher;

  /**
   * A message that nobody has taken yet.
   *
   * @param heldUp who is not read from as long as this waits; only of QoS 0
   * @param lane the loop whose lane's credit it keeps as long as it waits, or null; only of QoS 0
   */
  private record Waiting(
      Publication message,
      FilterHandle filter,
      @Nullable Acknowledgement acknowledgement,
      long deadlineMillis,
      @Nullable InboundPublishes heldUp,
      @Nullable Loop lane) {
    void answer(ReasonCode reason) {
      if (acknowledgement != null) acknowledgement.answer(reason);
    }

    boolean acknowledged() {
      return message.qos() != QoS.AT_MOST_ONCE;
    }

    /** Whether it counts to what waits without credit of a lane. */
    boolean bounded() {
      return !acknowledged() && lane == null;
    }

    int size() {
      return message.body().length;
    }
  }

  GroupDelivery(Loop loop) {
    this.loop = loop;
  }

  int waiting() {
    return waiting.size() + atSessionTier;
  }

  /** Says whose messages of QoS 0 come next, to be held up when a group cannot take them; null for nobody's. */
  void publishing(@Nullable InboundPublishes by) {
    publisher = by;
  }

  /**
   * Delivers a message to one member.
   *
   * @param acknowledgement expecting one answer for this; null with QoS 0 or when nobody waits for it
   */
  void dispatch(Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    ShareGroup group = groupOf(filter);
    Subscriber member = filter.filter().ordered() ? group.pickFor(message.publisher()) : group.pick(loop.index());
    if (member == null) {
      nobodyTakes(refused(message, filter, acknowledgement, null, null));
    } else if (member.session.loop() == loop) {
      offer(message, member, acknowledgement, publisher, null);
    } else if (message.qos() == QoS.AT_MOST_ONCE && member.session.load() == LiveSession.REFUSES) {
      nobodyTakes(refused(message, filter, null, publisher, null));
    } else {
      passOn(message, member, acknowledgement);
    }
  }

  /**
   * Offers a message that another loop has passed on to a member of this loop, and to others when it refuses.
   *
   * @return whether the credit of its lane is free again; otherwise this gives it back later
   */
  boolean offer(Publication message, Subscriber member, @Nullable Acknowledgement acknowledgement, Loop lane) {
    return offer(message, member, acknowledgement, null, message.qos() == QoS.AT_MOST_ONCE ? lane : null);
  }

  private boolean offer(
      Publication message,
      Subscriber member,
      @Nullable Acknowledgement acknowledgement,
      @Nullable InboundPublishes from,
      @Nullable Loop lane) {
    if (offerTo(member, message)) {
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
      return true;
    }
    Waiting refused = refused(message, member.filter, acknowledgement, from, lane);
    if (!staysWithMember(member.filter) && offerToOthers(refused)) return true;
    return !nobodyTakes(refused);
  }

  private static boolean offerTo(Subscriber member, Publication message) {
    if (!member.session.offerShared(message, member)) return false;
    groupOf(member.filter).takes();
    return true;
  }

  private Waiting refused(
      Publication message,
      FilterHandle filter,
      @Nullable Acknowledgement acknowledgement,
      @Nullable InboundPublishes from,
      @Nullable Loop lane) {
    FrontendSettings.GroupWaits waits = loop.frontend().settings().groupWaits();
    Duration wait = message.qos() == QoS.AT_MOST_ONCE ? waits.unacknowledged() : waits.acknowledged();
    return new Waiting(message, filter, acknowledgement, loop.nowMillis() + wait.toMillis(), from, lane);
  }

  /** In an ordered group a publisher's messages wait for its member, as long as there is one. */
  private static boolean staysWithMember(FilterHandle filter) {
    return filter.filter().ordered() && groupOf(filter).size() > 0;
  }

  private boolean offerToOthers(Waiting next) {
    ShareGroup group = groupOf(next.filter());
    int size = group.size();
    if (size == 0) return false;
    int start = ThreadLocalRandom.current().nextInt(size);
    Subscriber elsewhere = null;
    for (int i = 0; i < Math.min(size, ShareGroup.TRIES); i++) {
      Subscriber member = group.at((start + i) % size);
      if (member == null) continue;
      if (member.session.loop() != loop) {
        if (member.session.load() < LiveSession.REFUSES) elsewhere = member;
      } else if (offerTo(member, next.message())) {
        next.answer(ReasonCode.SUCCESS);
        return true;
      }
    }
    if (elsewhere == null) return false;
    passOn(next.message(), elsewhere, next.acknowledgement());
    return true;
  }

  private void passOn(Publication message, Subscriber member, @Nullable Acknowledgement acknowledgement) {
    loop.window().take(message.body().length);
    loop.batchTo(member.session.loop()).add(message, member, acknowledgement);
  }

  /** No connected member without an inbox takes it now; whether it is kept here with the credit of its lane, if it has that. */
  private boolean nobodyTakes(Waiting message) {
    if (!message.acknowledged()) return waitForRoom(message);
    if (staysWithMember(message.filter())) {
      keep(message);
    } else {
      offerToDurable(message);
    }
    return false;
  }

  private void offerToDurable(Waiting message) {
    atSessionTier++;
    loop.frontend().inbox().appendToGroup(message.filter().filter(), message.message()).whenComplete(
        (taken, failure) ->
            loop.run(
                () -> {
                  atSessionTier--;
                  if (failure != null) {
                    loop.frontend().storeFailures().increment();
                    keep(message);
                  } else if (taken) {
                    message.answer(ReasonCode.SUCCESS);
                  } else if (groupOf(message.filter()).size() > 0) {
                    keep(message);
                  } else {
                    // The last member has just left: to the publisher this is a message without subscribers.
                    drop();
                    message.answer(ReasonCode.SUCCESS);
                  }
                }));
  }

  private void drop() {
    loop.counts().copies().received();
    loop.counts().copies().dropped(DropReason.NO_MEMBER);
  }

  /** Keeps a message of QoS 0 for a short time, when that may help, and holds its publisher up; false when it is dropped. */
  private boolean waitForRoom(Waiting message) {
    ShareGroup group = groupOf(message.filter());
    FrontendSettings.GroupWaits waits = loop.frontend().settings().groupWaits();
    boolean full = message.bounded() && bytesWithoutCredit + message.size() > waits.unacknowledgedBytesMax();
    if (group.size() == 0 || group.stalled() || full || waits.unacknowledged().isZero()) {
      drop();
      return false;
    }
    if (message.heldUp() != null) message.heldUp().groupIsFull();
    keep(message);
    return true;
  }

  private void keep(Waiting message) {
    waiting.add(message);
    if (message.bounded()) bytesWithoutCredit += message.size();
    if (retryDue) return;
    retryDue = true;
    loop.executor().schedule(this::retryWaiting, RETRY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Offers what waits once more, each message at most once a call, in its order. */
  private void retryWaiting() {
    retryDue = false;
    long now = loop.readClock();
    for (int left = waiting.size(); left > 0; left--) {
      Waiting next = waiting.remove();
      if (next.bounded()) bytesWithoutCredit -= next.size();
      if (retry(next, now)) {
        if (next.heldUp() != null) next.heldUp().groupHasRoom();
        if (next.lane() != null) loop.batchTo(next.lane()).giveCredit(1, next.size());
      } else {
        keep(next);
      }
    }
  }

  /** Whether the message need not be kept any longer. */
  private boolean retry(Waiting next, long now) {
    ShareGroup group = groupOf(next.filter());
    if (now >= next.deadlineMillis()) {
      if (!next.acknowledged()) group.stalls();
      drop();
      next.answer(ReasonCode.QUOTA_EXCEEDED);
      return true;
    }
    if (!next.acknowledged() && group.size() == 0) {
      drop();
      return true;
    }
    if (next.filter().filter().ordered()) return retryOrdered(next, group);
    if (offerToOthers(next)) return true;
    if (!next.acknowledged()) return false;
    nobodyTakes(next);
    return true;
  }

  private boolean retryOrdered(Waiting next, ShareGroup group) {
    Subscriber member = group.pickFor(next.message().publisher());
    if (member == null) {
      if (!next.acknowledged()) return false;
      nobodyTakes(next);
    } else if (member.session.loop() != loop) {
      if (!next.acknowledged() && member.session.load() == LiveSession.REFUSES) return false;
      passOn(next.message(), member, next.acknowledgement());
    } else if (offerTo(member, next.message())) {
      next.answer(ReasonCode.SUCCESS);
    } else {
      return false;
    }
    return true;
  }

  private static ShareGroup groupOf(FilterHandle filter) {
    ShareGroup group = filter.group();
    if (group == null) throw new IllegalStateException("not a shared subscription: " + filter.filter().text());
    return group;
  }
}
