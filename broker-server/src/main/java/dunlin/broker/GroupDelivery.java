package dunlin.broker;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.transport.Acknowledgement;
import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Finds the member of a shared subscription's group that takes a message; one for each event loop. MQTT 5, section 4.8.2.
 *
 * <p>A member is picked on the loop that the message comes from and asked on its own loop. When it refuses, for it has left,
 * cannot be written to or has a full queue, the next one is asked there. When none takes it, a message of QoS 0 is dropped and
 * counted; with QoS 1 or 2 it goes to the durable members, and if there are none it waits, and with it the publisher's
 * acknowledgement, until a member takes it or the time is up.
 */
final class GroupDelivery {
  /*
   * Owner: the event loop.
   * Bounds: a message is passed on between loops at most so often as there are tries; what waits or is at the session tier is
   *   within its lane's window, but for messages of members that have left, which are within their sessions' bounds.
   * Failure: what the session tier does not take is tried again until its time is up.
   */
  private static final int RETRY_MILLIS = 5;

  private final Loop loop;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private boolean retryDue;
  private int atSessionTier;

  private record Waiting(
      Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement, long deadlineMillis) {
    void answer(ReasonCode reason) {
      if (acknowledgement != null) acknowledgement.answer(reason);
    }
  }

  GroupDelivery(Loop loop) {
    this.loop = loop;
  }

  int waiting() {
    return waiting.size() + atSessionTier;
  }

  /**
   * Delivers a message to one member.
   *
   * @param acknowledgement expecting one answer for this; null with QoS 0 or when nobody waits for it
   */
  void dispatch(Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    ShareGroup group = groupOf(filter);
    Subscriber member = filter.filter().ordered() ? group.pickFor(message.publisher()) : group.pick();
    if (member == null) {
      nobodyTakes(new Waiting(message, filter, acknowledgement, deadline()));
    } else if (member.session.loop() == loop) {
      offer(message, member, acknowledgement);
    } else {
      passOn(message, member, acknowledgement);
    }
  }

  /** Offers a message to a member of this loop, and to others when it refuses. */
  void offer(Publication message, Subscriber member, @Nullable Acknowledgement acknowledgement) {
    if (member.session.offerShared(message, member)) {
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
      return;
    }
    Waiting refused = new Waiting(message, member.filter, acknowledgement, deadline());
    if (!staysWithMember(member.filter) && offerToOthers(refused)) return;
    nobodyTakes(refused);
  }

  private long deadline() {
    return loop.nowMillis() + loop.frontend().settings().sharedWait().toMillis();
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
      } else if (member.session.offerShared(next.message(), member)) {
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

  /** No connected member without an inbox takes it now. */
  private void nobodyTakes(Waiting message) {
    if (message.message().qos() == QoS.AT_MOST_ONCE) {
      drop();
    } else if (staysWithMember(message.filter())) {
      keep(message);
    } else {
      offerToDurable(message);
    }
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

  private void keep(Waiting message) {
    waiting.add(message);
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
      if (now >= next.deadlineMillis()) {
        drop();
        next.answer(ReasonCode.QUOTA_EXCEEDED);
      } else if (next.filter().filter().ordered()) {
        retryOrdered(next);
      } else if (!offerToOthers(next)) {
        nobodyTakes(next);
      }
    }
  }

  private void retryOrdered(Waiting next) {
    Subscriber member = groupOf(next.filter()).pickFor(next.message().publisher());
    if (member == null) {
      nobodyTakes(next);
    } else if (member.session.loop() != loop) {
      passOn(next.message(), member, next.acknowledgement());
    } else if (member.session.offerShared(next.message(), member)) {
      next.answer(ReasonCode.SUCCESS);
    } else {
      keep(next);
    }
  }

  private static ShareGroup groupOf(FilterHandle filter) {
    ShareGroup group = filter.group();
    if (group == null) throw new IllegalStateException("not a shared subscription: " + filter.filter().text());
    return group;
  }
}
