package dunlin.inbox;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.GroupState.GroupMember;
import dunlin.model.QoS;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.ArrayList;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Shared subscriptions with durable members: who gets a message, what waits for whom; MQTT 5, section 4.8.2. */
final class Groups {
  /*
   * Owner: the applying thread.
   * Bounds: a member has at most a window of a group's unacknowledged messages; the rest waits in the group's inbox. A step
   * of drain() moves as many as its command says, and at most DRAIN_BYTES_MAX or one message. Giving back moves headers alone.
   */
  private static final int DRAIN_BYTES_MAX = 256 * 1024;
  private static final int FORMAT = 2;

  private final RangeState state;
  private final Inboxes inboxes;

  Groups(RangeState state, Inboxes inboxes) {
    this.state = state;
    this.inboxes = inboxes;
  }

  /** The member that takes a message now, or null when it has to wait. */
  @Nullable GroupMember pick(GroupState group, String publisher, int size) {
    if (group.key.filter().ordered()) {
      var member = group.ordered(publisher);
      return member != null && group.hasRoom(member) && fits(member, size) ? member : null;
    }
    return group.leastLoaded(member -> fits(member, size));
  }

  private boolean fits(GroupMember member, int size) {
    return inboxes.fits(member.session().backlog(), size);
  }

  /** A message of the group was stored in a member's inbox. */
  void assigned(Change change, GroupState group, GroupMember member, long sequence) {
    group.assigned(member, sequence);
    state.summaries.touch(group, member);
    writeRecord(change, group);
  }

  /** Adds a session to a group, which begins with its first member. */
  void join(Change change, Subscriber subscriber) {
    var key = new GroupKey(subscriber.session.key.tenant(), subscriber.filter);
    var group = state.groups.get(key);
    if (group == null) {
      group = new GroupState(key, state.nextEpoch(change.out()), state.limits.groupWindow());
      writeRecord(change, group);
      state.groups.put(key, group);
    }
    var alone = group.size() == 1 ? group.members().iterator().next() : null;
    if (group.join(subscriber)) change.effects().route(route(subscriber), true);
    // A lone member that is away kept its messages, since nobody else could have taken them.
    if (alone != null && !alone.online()) giveBack(change, group, alone);
    askForDrain(change, group);
  }

  /** A member is gone, but its session stays: what it was sent, it keeps. */
  void leave(Change change, Subscriber subscriber) {
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

  /** A member's session has ended: what was not begun goes to others. */
  void end(Change change, Subscriber subscriber) {
    var group = group(subscriber);
    var member = member(group, subscriber.session);
    if (group.size() > 1) giveBack(change, group, member);
    remove(change, group, member);
  }

  private void remove(Change change, GroupState group, GroupMember member) {
    state.summaries.left(change.out(), group, member);
    if (group.leave(member)) change.effects().route(route(member.subscriber), false);
    if (group.size() > 0) {
      askForDrain(change, group);
      return;
    }
    state.groups.remove(group.key);
    change.out().delete(SessionKeys.group(group.key));
    change.out().delete(SessionKeys.groupInbox(group.key));
    if (group.backlog.count > 0) state.leave(group.backlog, DropReason.GROUP_ENDED);
  }

  /** A member's connection has come. */
  void online(Change change, Subscriber subscriber) {
    var group = group(subscriber);
    group.changed(member(group, subscriber.session));
    askForDrain(change, group);
  }

  /** A member's connection has ended: what was not begun goes to others, if there are any. */
  void offline(Change change, Subscriber subscriber) {
    var group = group(subscriber);
    var member = member(group, subscriber.session);
    group.changed(member);
    if (group.size() > 1) giveBack(change, group, member);
    askForDrain(change, group);
  }

  /**
   * Puts what a member has not acknowledged in front of the group's inbox, the oldest first. QoS 2 messages that may have
   * been sent stay with the member [MQTT-4.8.2-4, -5].
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
    for (Inboxes.Row row : given.reversed()) {
      inboxes.take(change, inbox, row.sequence(), row.stored());
      inboxes.reserve(group.backlog, row.stored().size());
      inboxes.writeFirst(change, group.backlog, waiting(row.stored()));
    }
  }

  /** The row of a message in a group's inbox; how it is sent is decided for each member. */
  static StoredMessage waiting(StoredMessage stored) {
    return new StoredMessage(
        stored.qos(), false, false, stored.size(), stored.expiresAt(), new int[0], null, stored.topic(), stored.bodyId());
  }

  /** Hands messages of the group's inbox to members with room, in order. */
  void drain(Change change, GroupKey key, int max) {
    var group = state.groups.get(key);
    if (group == null || group.backlog.count == 0) return;
    long bytes = 0;
    for (Inboxes.Row waiting : Inboxes.first(change, group.backlog, max)) {
      if (bytes > 0 && bytes + waiting.stored().size() > DRAIN_BYTES_MAX) break;
      bytes += waiting.stored().size();
      if (!handOver(change, group, waiting)) return;
    }
    askForDrain(change, group);
  }

  private boolean handOver(Change change, GroupState group, Inboxes.Row waiting) {
    var stored = waiting.stored();
    if (stored.expired(change.now())) {
      inboxes.remove(change, group.backlog, waiting.sequence(), stored);
      change.effects().drop(DropReason.EXPIRED);
      return true;
    }
    if (!group.hasRoom()) return false;
    var message = Inboxes.body(change, group.key.tenant(), stored.bodyId());
    var member = pick(group, message.publisher().clientId(), stored.size());
    if (member == null) return false;
    var session = member.session();
    var owner = Objects.requireNonNull(session.owner);
    var options = member.subscriber.options;
    var qos = message.qos().min(options.maximumQoS());
    boolean retain = message.retain() && options.retainAsPublished();
    int[] identifiers = Matcher.identifiers(options);
    if (qos == QoS.AT_MOST_ONCE) {
      inboxes.remove(change, group.backlog, waiting.sequence(), stored);
      change.effects().acknowledge();
      change.effects().push(session, owner, new InboxMessage(0, qos, retain, false, false, identifiers, message));
      return true;
    }
    var given =
        new StoredMessage(
            qos, retain, false, stored.size(), stored.expiresAt(), identifiers, group.key.filter(), stored.topic(), stored.bodyId());
    inboxes.take(change, group.backlog, waiting.sequence(), stored);
    inboxes.reserve(session.backlog(), stored.size());
    long sequence = inboxes.write(change, session.backlog(), given, given.toBytes(), null);
    assigned(change, group, member, sequence);
    change
        .effects()
        .push(session, owner, new InboxMessage(sequence, qos, retain, false, false, identifiers, message));
    return true;
  }

  void askForDrain(Change change, GroupState group) {
    if (group.backlog.count > 0 && group.hasRoom()) change.effects().drain(group.key);
  }

  RouteKey route(Subscriber subscriber) {
    return new RouteKey(subscriber.session.bucket, subscriber.session.key.tenant(), subscriber.filter);
  }

  private GroupState group(Subscriber subscriber) {
    var group = state.groups.get(new GroupKey(subscriber.session.key.tenant(), subscriber.filter));
    if (group == null) throw new IllegalStateException("a member of no group: " + subscriber.filter);
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
            SessionKeys.group(group.key),
            FieldWriter.bytesOf(
                fields -> {
                  fields.octet(FORMAT);
                  fields.number(group.birth);
                  fields.text(group.lastTurn());
                }));
  }

  static GroupState readRecord(GroupKey key, byte[] value, int window) {
    return FieldReader.read(
        value,
        in -> {
          int format = in.octet();
          if (format != FORMAT) throw new IllegalStateException("row of unknown format " + format);
          var group = new GroupState(key, in.number(), window);
          group.restoreTurn(in.text());
          return group;
        });
  }
}
