package dunlin.inbox.range;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.DurableSubscriber;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.Matcher;
import dunlin.inbox.state.MemberQueue;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Shared subscriptions with durable members: which member gets a message, and which messages wait; MQTT 5, section
 * 4.8.2.
 */
final class Groups {
  /*
   * Owner: the applying thread.
   * Bounds: a member has at most a window of a group's unacknowledged messages; further messages wait in the group's
   * inbox, or in an ordered group in the queues of OrderedGroups. A step of drain() moves at most as many messages as
   * its command says, and at most DRAIN_BYTES_MAX or one message. Giving back moves only headers.
   */
  private static final int DRAIN_BYTES_MAX = 256 * 1024;
  private static final int FORMAT = 2;

  private final RangeState state;
  private final Inboxes inboxes;
  private final OrderedGroups ordered;

  Groups(RangeState state, Inboxes inboxes) {
    this.state = state;
    this.inboxes = inboxes;
    ordered = new OrderedGroups(state, inboxes, this);
  }

  /** The member that takes a new message now, or null if the message has to wait; see {@link #waitsIn}. */
  @Nullable GroupMember pick(GroupState group, String publisher, int size) {
    // First in, first out: while any message waits, a new one waits behind it.
    if (group.waits()) return null;
    return group.queues == null ? leastLoaded(group, size) : ordered.pick(group, publisher, size);
  }

  private @Nullable GroupMember leastLoaded(GroupState group, int size) {
    return group.leastLoaded(member -> fits(group, member, size));
  }

  /** Where a new message waits if no member takes it now. */
  Backlog waitsIn(Change change, GroupState group, String publisher) {
    return group.queues == null ? group.backlog : ordered.waitsIn(change, group, publisher);
  }

  /**
   * Whether a message fits into a member's inbox. If it does not, the group is drained again once messages have left
   * that inbox.
   */
  boolean fits(GroupState group, GroupMember member, int size) {
    if (inboxes.fits(member.session().backlog(), size)) return true;
    state.turnedAway(member.session(), group);
    return false;
  }

  /** Notes that a message of the group was stored in a member's inbox. */
  void assigned(Change change, GroupState group, GroupMember member, long sequence) {
    group.assigned(member, sequence);
    state.summaries.touch(group, member);
    writeRecord(change, group);
  }

  /** Notes that a message of the group was stored where it waits. */
  void waits(Change change, GroupState group, Backlog where) {
    if (where instanceof MemberQueue queue) group.queued(queue);
    askForDrain(change, group);
  }

  /** Adds a session to a group; the first member creates the group. */
  void join(Change change, DurableSubscriber subscriber) {
    var key = new GroupKey(subscriber.session.key.tenant(), subscriber.filter);
    var group = state.groups.get(key);
    if (group == null) {
      group = begin(change, key);
    }
    var alone = group.size() == 1 ? group.members().iterator().next() : null;
    if (group.join(subscriber)) change.effects().route(route(subscriber), true);
    // An offline member that was alone kept its messages, since no other could have taken them.
    if (alone != null && !alone.online()) giveBack(change, group, alone);
    askForDrain(change, group);
  }

  /**
   * Creates a group without members. With several ranges it may stay so: a message may arrive when the last member in
   * this range has just left, and other ranges may have members.
   */
  GroupState begin(Change change, GroupKey key) {
    var group =
        new GroupState(key, state.counters.nextEpoch(change.out(), state.interval.of(key)), state.limits.groupWindow(), state.interval.isWhole());
    writeRecord(change, group);
    state.groups.put(key, group);
    return group;
  }

  /** Removes a member whose session stays: it keeps the messages that it was sent. */
  void leave(Change change, DurableSubscriber subscriber) {
    var group = group(subscriber);
    var member = member(group, subscriber.session);
    var inbox = subscriber.session.backlog();
    for (long sequence : member.outstanding) {
      var stored = inboxes.header(change, inbox, sequence);
      if (stored != null) inboxes.rewrite(change, inbox, sequence, stored.withoutGroup());
    }
    member.outstanding.clear();
    remove(change, group, member);
  }

  /** Removes a member whose session has ended: messages that were not sent to it go to other members. */
  void end(Change change, DurableSubscriber subscriber) {
    var group = group(subscriber);
    var member = member(group, subscriber.session);
    if (group.size() > 1 || !group.whole) giveBack(change, group, member);
    remove(change, group, member);
  }

  private void remove(Change change, GroupState group, GroupMember member) {
    state.summaries.left(change.out(), group, member);
    boolean ends = group.size() == 1 && group.whole;
    if (group.queues != null && !ends) ordered.gone(change, group, member);
    if (group.queues != null && ends) ordered.end(change, group);
    if (group.leave(member)) change.effects().route(route(member.subscriber), false);
    if (group.size() > 0) {
      askForDrain(change, group);
      return;
    }
    // Members in other ranges may take the waiting messages.
    if (!group.whole && group.holds()) askForDrain(change, group);
    else drop(change, group);
  }

  /** Removes a group without members and without waiting messages. */
  void endIfEmpty(Change change, GroupState group) {
    if (group.size() == 0 && !group.holds()) drop(change, group);
  }

  /** Removes a group without members and drops its waiting messages. */
  void dropAll(Change change, GroupState group) {
    if (group.queues != null) ordered.end(change, group);
    drop(change, group);
  }

  private void drop(Change change, GroupState group) {
    state.groups.remove(group.key);
    change.out().delete(SessionKeys.group(group.shard, group.key));
    change.out().delete(SessionKeys.groupInbox(group.shard, group.key));
    if (group.backlog.count > 0) state.leave(group.backlog, InboxDropReason.GROUP_ENDED);
  }

  /** Notes that a member has got a connection. */
  void online(Change change, DurableSubscriber subscriber) {
    var group = group(subscriber);
    var member = member(group, subscriber.session);
    member.keeps = false;
    group.changed(member);
    askForDrain(change, group);
  }

  /**
   * Notes that a member's connection has ended: messages that were not sent to it go to other members, if there are
   * any.
   */
  void offline(Change change, DurableSubscriber subscriber) {
    var group = group(subscriber);
    var member = member(group, subscriber.session);
    group.changed(member);
    if (group.size() > 1) giveBack(change, group, member);
    askForDrain(change, group);
  }

  /**
   * Gives back the messages that a member has not acknowledged: they are put in front of the waiting ones, the oldest
   * first. QoS 2 messages that may have been sent stay with the member [MQTT-4.8.2-4, -5].
   */
  private void giveBack(Change change, GroupState group, GroupMember member) {
    var session = member.session();
    var inbox = session.backlog();
    var given = new ArrayList<Inboxes.Row>();
    for (long sequence : member.outstanding) {
      var stored = inboxes.header(change, inbox, sequence);
      if (stored == null) throw new IllegalStateException("message " + sequence + " of a member is missing");
      boolean begun = stored.qos() == QoS.EXACTLY_ONCE && (stored.released() || sequence < session.sentBelow());
      if (!begun) given.add(new Inboxes.Row(sequence, stored));
    }
    member.keeps = !member.online();
    if (group.queues == null) {
      putInFront(change, group.backlog, member, given);
    } else {
      ordered.giveBack(change, group, member, given);
      ordered.gone(change, group, member);
    }
  }

  /** Gives back the unacknowledged messages of the only member, if that is offline, so that others can take them. */
  void giveBackAlone(Change change, GroupState group) {
    if (group.size() != 1) return;
    var member = group.members().iterator().next();
    if (!member.online()) giveBack(change, group, member);
  }

  /** Puts messages that were set aside in front of the waiting ones. */
  void putBack(Change change, GroupState group, Backlog aside, List<Inboxes.Row> given) {
    var waits = group.queues == null ? group.backlog : ordered.front(change, group);
    for (Inboxes.Row row : given.reversed()) {
      inboxes.take(change, aside, row.sequence(), row.stored());
      inboxes.reserve(waits, row.stored().size());
      inboxes.writeFirst(change, waits, row.stored());
    }
  }

  /** Moves messages from a member's inbox to the front of the waiting ones. */
  void putInFront(Change change, Backlog waits, GroupMember member, List<Inboxes.Row> given) {
    for (Inboxes.Row row : given.reversed()) {
      inboxes.take(change, member.session().backlog(), row.sequence(), row.stored());
      inboxes.reserve(waits, row.stored().size());
      inboxes.writeFirst(change, waits, waiting(row.stored()));
    }
  }

  /** The header of a message for a group's inbox; how the message is sent is decided for each member. */
  static StoredMessage waiting(StoredMessage stored) {
    return new StoredMessage(
        stored.qos(), false, false, stored.size(), stored.expiresAt(), new int[0], null, stored.topic(), stored.bodyId());
  }

  /** Hands waiting messages to members with room, in order. */
  void drain(Change change, GroupKey key, int max) {
    var group = state.groups.get(key);
    if (group == null) return;
    if (group.queues != null) {
      ordered.drain(change, group, max);
      return;
    }
    long bytes = 0;
    for (Inboxes.Row waiting : Inboxes.first(change, group.backlog, max)) {
      var stored = waiting.stored();
      if (bytes > 0 && bytes + stored.size() > DRAIN_BYTES_MAX) break;
      bytes += stored.size();
      if (stored.expired(change.now())) {
        expire(change, group.backlog, waiting);
        continue;
      }
      var member = group.hasRoom() ? leastLoaded(group, stored.size()) : null;
      if (member == null) return;
      give(change, group, member, group.backlog, waiting, message(change, group, waiting));
    }
    askForDrain(change, group);
  }

  /** Removes a waiting message that has expired. */
  void expire(Change change, Backlog waits, Inboxes.Row waiting) {
    var message = inboxes.noted(change, waits, waiting.sequence(), waiting.stored());
    inboxes.remove(change, waits, waiting.sequence(), waiting.stored());
    change.effects().drop(InboxDropReason.EXPIRED, waits, message);
  }

  Publication message(Change change, GroupState group, Inboxes.Row waiting) {
    return Inboxes.body(change, group.key.tenant(), waiting.stored().bodyId());
  }

  /** Gives a waiting message to an online member with room for it. */
  void give(Change change, GroupState group, GroupMember member, Backlog waits, Inboxes.Row waiting, Publication message) {
    var stored = waiting.stored();
    var session = member.session();
    var owner = Objects.requireNonNull(session.owner);
    var options = member.subscriber.options;
    var qos = message.qos().min(options.maximumQoS());
    boolean retain = message.retain() && options.retainAsPublished();
    int[] identifiers = Matcher.identifiers(options);
    if (qos == QoS.AT_MOST_ONCE) {
      inboxes.remove(change, waits, waiting.sequence(), stored);
      change.effects().acknowledge();
      group.dealt(member);
      change.effects().push(session, owner, new InboxMessage(0, qos, retain, false, false, identifiers, message));
      return;
    }
    var given =
        new StoredMessage(
            qos, retain, false, stored.size(), stored.expiresAt(), identifiers, group.key.filter(), stored.topic(), stored.bodyId());
    inboxes.take(change, waits, waiting.sequence(), stored);
    inboxes.reserve(session.backlog(), stored.size());
    long sequence = inboxes.write(change, session.backlog(), given, given.toBytes(), null);
    assigned(change, group, member, sequence);
    change
        .effects()
        .push(session, owner, new InboxMessage(sequence, qos, retain, false, false, identifiers, message));
  }

  void askForDrain(Change change, GroupState group) {
    if (group.drains()) change.effects().drain(group.key);
    else if (group.lookForOthers()) change.effects().stuck(group.key);
  }

  RouteKey route(DurableSubscriber subscriber) {
    return state.interval.route(subscriber.session.key, subscriber.filter);
  }

  private GroupState group(DurableSubscriber subscriber) {
    var group = state.groups.get(new GroupKey(subscriber.session.key.tenant(), subscriber.filter));
    if (group == null) throw new IllegalStateException("not a member of any group: " + subscriber.filter);
    return group;
  }

  private static GroupMember member(GroupState group, SessionState session) {
    var member = group.member(session);
    if (member == null) throw new IllegalStateException("not a member of " + group.key.filter());
    return member;
  }

  private static void writeRecord(Change change, GroupState group) {
    change
        .out()
        .put(
            SessionKeys.group(group.shard, group.key),
            FieldWriter.bytesOf(
                fields -> {
                  fields.octet(FORMAT);
                  fields.number(group.birth);
                  fields.text(group.lastTurn());
                }));
  }

  static GroupState readRecord(GroupKey key, byte[] value, int window, boolean whole) {
    return FieldReader.read(
        value,
        in -> {
          int format = in.octet();
          if (format != FORMAT) throw new IllegalStateException("row of unknown format " + format);
          var group = new GroupState(key, in.number(), window, whole);
          group.restoreTurn(in.text());
          return group;
        });
  }
}
