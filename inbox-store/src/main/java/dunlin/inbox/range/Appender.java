package dunlin.inbox.range;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.ForeignWills;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand.Append;
import dunlin.inbox.rows.SessionCommand.AppendOfExchange;
import dunlin.inbox.rows.SessionCommand.AppendTo;
import dunlin.inbox.rows.SessionCommand.AppendToGroup;
import dunlin.inbox.rows.SessionCommand.AppendToGroupOfExchange;
import dunlin.inbox.rows.SessionCommand.PickForGroup;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.Matcher;
import dunlin.inbox.state.PendingWill;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import dunlin.transport.trace.Trace.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Appends messages to the inboxes of the sessions and groups that they match. */
final class Appender {
  /*
   * Owner: the applying thread.
   * Costs: a key and a row for each inbox. The content of the row is encoded once for all inboxes of a shard that get
   *   the same, and so is the message. Retained messages are compared with the headers of at most SINCE_MAX messages
   *   that were stored since they were read.
   * Failure: with the policy "reject" one full inbox refuses the message for all inboxes of the range, so that a
   * publisher that receives 0x97 and publishes again doubles it for none of them. The connection of an MQTT 3 publisher
   * is closed, and its further messages are refused: see Fences. A will is published once, so a full inbox refuses it
   * only for itself.
   * Once: the message of a recorded exchange, or of a will whose sending is recorded, is appended once: its record says so, and which shards were picked for its groups. That of
   * another range's session is one of ForeignExchanges or ForeignWills.
   */
  static final int SINCE_MAX = 1_024;

  /** The order in which subscribers take room: that of their sessions' birth, which no two have in common. */
  private static final Comparator<Target> BY_BIRTH = Comparator.comparingLong(target -> Objects.requireNonNull(target.inbox().session).birth);

  private final RangeState state;
  private final Inboxes inboxes;
  private final Groups groups;
  private final Wills wills;

  Appender(RangeState state, Inboxes inboxes, Groups groups, Wills wills) {
    this.state = state;
    this.inboxes = inboxes;
    this.groups = groups;
    this.wills = wills;
  }

  /**
   * An inbox that a message goes to: that of a session, through a group if {@code member} is set, or the one where it
   * waits for a group's member.
   */
  private record Target(
      Backlog inbox,
      @Nullable GroupState group,
      @Nullable GroupMember member,
      QoS qos,
      boolean retain,
      int[] identifiers) {
    /** The shard of the message's body, if that is stored apart from the header. */
    int bodyShard() {
      return group == null ? Objects.requireNonNull(inbox.session).shard : group.shard;
    }
  }

  Outcome append(Change change, Append command) {
    return append(change, command, true);
  }

  /** @param plain whether plain subscribers get it */
  private Outcome append(Change change, Append command, boolean plain) {
    var message = command.message();
    var exchange = command.exchange();
    if (exchange != null && exchange.isOfWill()) return appendWill(change, command, exchange.epoch());
    SessionState publisher = null;
    if (exchange != null) {
      publisher = state.sessions.get(publisherOf(message));
      if (publisher == null) return new Outcome.Stale();
      // Also when the session was taken over since: the new connection is not read from while the message is on its way.
      boolean isIts = publisher.birth <= exchange.epoch() && exchange.epoch() <= publisher.epoch;
      if (isIts && publisher.hasReceived(exchange.packetId())) {
        var record = recordOf(publisher, exchange.packetId(), command.origin());
        if (record != null) return repeat(change, record, command);
        var open = publisher.openExchange(exchange.packetId());
        // The client has published it again over its next connection, and that was recorded first: it goes to connected sessions with the number that it has there.
        if (open != null && exchange.epoch() < open.epoch()) return new Outcome.Stale();
        boolean delivered = open == null && command.origin() != null;
        return new Outcome.Repeated(delivered ? List.of(Terms.Pick.DELIVERED) : List.of());
      }
      if (publisher.epoch != exchange.epoch()) return new Outcome.Stale();
    }
    if (state.fences.holds(command.fence())) return new Outcome.Fenced();
    if (exchange == null || publisher == null) return appendAnew(change, command, plain, () -> {});
    var recording = publisher;
    var origin = command.origin();
    var open = origin == null ? null : new OpenExchange(exchange.packetId(), exchange.epoch(), origin);
    return appendAnew(change, command, plain, () -> SessionLife.received(state, change, recording, exchange.packetId(), open));
  }

  /** Appends the message of a will unless it was appended before, or the will is published or discarded. */
  private Outcome appendWill(Change change, Append command, long epoch) {
    var will = wills.sent(publisherOf(command.message()), epoch);
    if (will == null) return new Outcome.Repeated(List.of(Terms.Pick.DELIVERED));
    var stored = will.stored;
    if (stored != null) return repeat(change, ofWill(will, stored), command);
    return appendAnew(change, command, true, () -> wills.stored(change, will, Objects.requireNonNull(command.origin())));
  }

  private static SessionKey publisherOf(Publication message) {
    return new SessionKey(message.tenant(), message.publisher().clientId());
  }

  /**
   * Appends a message that was not appended before.
   *
   * @param plain whether plain subscribers get it
   * @param record is run once it is appended, unless it is refused for all
   */
  private Outcome appendAnew(Change change, Append command, boolean plain, Runnable record) {
    var message = command.message();
    byte[] encoded = StoredMessage.bytes(message);
    var stored = new ArrayList<Target>();
    var passing = new ArrayList<Target>();
    if (plain) for (Matcher.Match match : Matcher.match(state.index, message)) {
      var list = match.qos() == QoS.AT_MOST_ONCE ? passing : stored;
      list.add(
          new Target(match.session().backlog(), null, null, match.qos(), match.retain(), match.identifiers()));
    }
    // The first ones may take the last room. Replicas find subscribers in different orders, and must give it to the same one.
    if (stored.size() > 1 && !inboxes.fitTogether(message.tenant(), stored.size(), encoded.length)) stored.sort(BY_BIRTH);
    for (TopicFilter filter : command.groups()) {
      var group = groupOrNew(change, new GroupKey(message.tenant(), filter));
      if (group == null) continue;
      var target = target(change, group, message, encoded.length);
      (target.qos() == QoS.AT_MOST_ONCE ? passing : stored).add(target);
    }
    boolean rejects = state.limits.overflow() == OverflowPolicy.REJECT;
    if (rejects && !command.once() && rejects(change, stored, encoded.length, message)) {
      state.fences.add(change.out(), command.fence());
      return new Outcome.Full();
    }
    for (Target target : passing) pass(change, target, message);
    boolean everywhere = store(change, stored, message, encoded);
    record.run();
    return rejects && !everywhere ? new Outcome.Full() : new Outcome.Done();
  }

  /** A group for a message that was sent here; if it has no member here any more, those in other ranges get the message. Null when there are no others. */
  private @Nullable GroupState groupOrNew(Change change, GroupKey key) {
    var group = state.groups.get(key);
    return group != null || state.interval.isWhole() ? group : groups.begin(change, key);
  }

  /**
   * The message of a recorded exchange comes again: it is stored for groups that were not sent here when it came first, because a frontend was picked for them
   * that has ended since. A repetition that does not know the last pick learns it, and may come again. The record keeps what was picked for groups. A will that a group has no
   * room for is stored for the others, and counted as dropped: its sender must learn what was picked.
   */
  private Outcome repeat(Change change, Recorded record, Append command) {
    var origin = Objects.requireNonNull(command.origin());
    var known = record.origin.picked();
    for (TopicFilter filter : command.groups()) {
      if (record.origin.isStoredFor(filter) || !record.origin.isKnownTo(origin, filter)) continue;
      var group = groupOrNew(change, new GroupKey(command.message().tenant(), filter));
      if (group == null) continue;
      if (storeInGroup(change, group, command.message()) instanceof Outcome.Full full) {
        if (command.once()) continue;
        state.fences.add(change.out(), command.fence());
        return full;
      }
      record.becomes(change, record.origin.withPicked(storedIn(group)));
    }
    record.becomes(change, record.origin.withPicksOf(origin));
    return new Outcome.Repeated(known);
  }

  /** The record of a message that is stored once, and may have to be delivered to others. */
  private static final class Recorded {
    private final BiConsumer<Change, Terms.Origin> keep;

    /** A number by which other ranges know that there is a record. */
    private final long birth;

    /** Of the message, with what was picked for its groups. */
    private Terms.Origin origin;

    Recorded(Terms.Origin origin, long birth, BiConsumer<Change, Terms.Origin> keep) {
      this.origin = origin;
      this.birth = birth;
      this.keep = keep;
    }

    /** Keeps what was picked for groups of the message. */
    void becomes(Change change, Terms.Origin more) {
      if (more.equals(origin)) return;
      origin = more;
      keep.accept(change, more);
    }
  }

  /** The record of an exchange whose message is not known to be delivered, if it is that of the message with this origin. */
  private @Nullable Recorded recordOf(@Nullable SessionState publisher, int packetId, Terms.@Nullable Origin origin) {
    var open = publisher == null ? null : publisher.openExchange(packetId);
    if (publisher == null || open == null || origin == null || !open.origin().isOfSame(origin)) return null;
    return new Recorded(open.origin(), publisher.birth, (change, more) -> SessionLife.received(state, change, publisher, packetId, new OpenExchange(packetId, open.epoch(), more)));
  }

  private Recorded ofWill(PendingWill will, Terms.Origin stored) {
    return new Recorded(stored, will.epoch, (change, more) -> wills.stored(change, will, more));
  }

  private static List<Long> storedIn(GroupState group) {
    return List.of(Terms.Pick.of(group.key.filter(), ShardId.inbox(group.shard)));
  }

  /** Appends the message of an exchange of another range's session, unless it was stored before or comes late. */
  Outcome appendOfExchange(Change change, AppendOfExchange command) {
    if (command.packetId() == Publication.Exchange.WILL) return appendOfWill(change, command);
    var publisher = publisherOf(command.append().message());
    if (state.foreignExchanges.isLate(publisher, command.epoch())) return new Outcome.Stale();
    state.foreignExchanges.hear(change.out(), state.interval, publisher, command.birth(), command.epoch());
    var stored = state.foreignExchanges.stored(publisher, command.birth(), command.packetId());
    var groups = stored.leftOf(command.append().groups());
    if (stored.plain() && groups.isEmpty()) return new Outcome.Done();
    var outcome = append(change, command.append().withGroups(groups), !stored.plain());
    if (outcome instanceof Outcome.Done) {
      state.foreignExchanges.add(change.out(), state.interval, publisher, command.birth(), command.packetId(), stored.with(true, groups));
    }
    return outcome;
  }

  /** The same for the will of a connection of another range's session. */
  private Outcome appendOfWill(Change change, AppendOfExchange command) {
    var append = command.append();
    var will = new ForeignWills.Will(publisherOf(append.message()), command.epoch());
    var stored = state.foreignWills.stored(will);
    var groups = stored.leftOf(append.groups());
    var outcome = stored.plain() && groups.isEmpty() ? new Outcome.Done() : append(change, append.withGroups(groups), !stored.plain());
    state.foreignWills.heard(change.out(), state.interval, will, change.now(), stored.with(true, groups));
    return outcome;
  }

  /** The same for one group: a frontend offers it the message, and plain subscribers get it from the publisher's lane, in its order. */
  Outcome appendToGroupOfExchange(Change change, AppendToGroupOfExchange command) {
    var append = command.append();
    var message = append.message();
    var exchange = Objects.requireNonNull(append.exchange());
    var publisher = publisherOf(message);
    if (exchange.isOfWill()) return appendToGroupOfWill(change, append, new ForeignWills.Will(publisher, exchange.epoch()));
    if (state.foreignExchanges.isLate(publisher, exchange.epoch())) return new Outcome.Stale();
    state.foreignExchanges.hear(change.out(), state.interval, publisher, command.birth(), exchange.epoch());
    var stored = state.foreignExchanges.stored(publisher, command.birth(), exchange.packetId());
    if (stored.isFor(append.group())) return new Outcome.Existed(List.of(true));
    var group = groupOrNew(change, new GroupKey(message.tenant(), append.group()));
    if (group == null) return new Outcome.Existed(List.of(false));
    var outcome = storeInGroup(change, group, message);
    if (outcome instanceof Outcome.Existed) {
      state.foreignExchanges.add(
          change.out(), state.interval, publisher, command.birth(), exchange.packetId(), stored.with(stored.plain(), List.of(append.group())));
    }
    return outcome;
  }

  private Outcome appendToGroupOfWill(Change change, AppendToGroup append, ForeignWills.Will will) {
    var stored = state.foreignWills.stored(will);
    if (stored.isFor(append.group())) return new Outcome.Existed(List.of(true));
    var group = groupOrNew(change, new GroupKey(append.message().tenant(), append.group()));
    if (group == null) return new Outcome.Existed(List.of(false));
    var outcome = storeInGroup(change, group, append.message());
    if (outcome instanceof Outcome.Existed) state.foreignWills.heard(change.out(), state.interval, will, change.now(), stored.with(stored.plain(), List.of(append.group())));
    return outcome;
  }

  /** Adds to the record of an exchange of this range that its message goes to the members of a group in another range, unless it names some. */
  Outcome pickForGroup(Change change, PickForGroup command) {
    var key = new SessionKey(command.tenant(), command.clientId());
    var exchange = command.exchange();
    if (exchange.isOfWill()) {
      var will = wills.sent(key, exchange.epoch());
      if (will == null) return new Outcome.Picked(Terms.Pick.DELIVERED, exchange.epoch());
      return will.stored == null ? new Outcome.Picked(0, 0) : pick(change, ofWill(will, will.stored), command);
    }
    var publisher = state.sessions.get(key);
    if (publisher == null || publisher.birth > exchange.epoch() || !publisher.hasReceived(exchange.packetId())) return new Outcome.Picked(0, 0);
    var record = recordOf(publisher, exchange.packetId(), exchange.origin());
    if (record != null) return pick(change, record, command);
    return publisher.openExchange(exchange.packetId()) == null ? new Outcome.Picked(Terms.Pick.DELIVERED, publisher.birth) : new Outcome.Picked(0, 0);
  }

  private static Outcome pick(Change change, Recorded record, PickForGroup command) {
    var before = record.origin.storedFor(command.group());
    if (before.isPresent()) return new Outcome.Picked(before.get(), record.birth);
    record.becomes(change, record.origin.withPicked(List.of(command.pick())));
    return new Outcome.Picked(command.pick(), record.birth);
  }

  private Target target(Change change, GroupState group, Publication message, int size) {
    String publisher = message.publisher().clientId();
    var member = groups.pick(group, publisher, size);
    if (member == null) return new Target(groups.waitsIn(change, group, publisher), group, null, message.qos(), false, new int[0]);
    var options = member.subscriber.options;
    return new Target(
        member.session().backlog(),
        group,
        member,
        message.qos().min(options.maximumQoS()),
        message.retain() && options.retainAsPublished(),
        Matcher.identifiers(options));
  }

  private boolean rejects(Change change, List<Target> targets, int size, Publication message) {
    boolean rejects = false;
    for (Target target : targets) {
      if (inboxes.makeRoom(change, target.inbox(), size)) continue;
      change.effects().append();
      change.effects().drop(InboxDropReason.REJECTED, target.inbox(), message);
      rejects = true;
    }
    return rejects;
  }

  /** Delivers to a subscription with QoS 0: the message is sent if there is a connection. */
  private static void pass(Change change, Target target, Publication message) {
    var session = target.inbox().session;
    if (session == null) return;
    var owner = session.owner;
    if (owner == null) {
      change.effects().drop(InboxDropReason.OFFLINE, target.inbox(), message);
      return;
    }
    if (message.isRepetition()) {
      change.effects().drop(InboxDropReason.REPEATED, target.inbox(), message);
      return;
    }
    GroupState group = target.group();
    GroupMember member = target.member();
    if (group != null && member != null) group.dealt(member);
    change
        .effects()
        .push(
            session,
            owner,
            new InboxMessage(0, target.qos(), target.retain(), false, false, target.identifiers(), message));
  }

  /** Answers whether all targets have room for the message; those without count it. */
  private boolean store(Change change, List<Target> targets, Publication message, byte[] encoded) {
    boolean everywhere = !targets.removeIf(target -> !inboxes.admit(change, target.inbox(), encoded.length, message));
    if (targets.isEmpty()) return everywhere;
    var bodies = new Bodies(targets);
    for (Target target : targets) {
      var header = bodies.header(change, target, message, encoded);
      write(change, target, message, header, header.bodyId == StoredMessage.OWN ? encoded : null);
    }
    return everywhere;
  }

  /** The bodies of one message, one in each shard with several inboxes that hold it, or with a group. */
  private final class Bodies {
    private final int[] targets;
    private final @Nullable Header[] headers;

    Bodies(List<Target> all) {
      boolean one = all.size() == 1;
      targets = new int[one ? 1 : state.interval.size()];
      headers = new Header[targets.length];
      for (Target each : all) targets[place(each)]++;
    }

    private int place(Target target) {
      return targets.length == 1 ? 0 : target.bodyShard() - state.interval.from();
    }

    Header header(Change change, Target target, Publication message, byte[] encoded) {
      int place = place(target);
      var header = headers[place];
      if (header == null) {
        // A message of a group may move to another inbox later, and then only its header moves.
        boolean own = targets[place] == 1 && target.group() == null;
        header =
            new Header(
                own ? StoredMessage.OWN : inboxes.writeBody(change, target.bodyShard(), message.tenant(), encoded, targets[place]));
        headers[place] = header;
      }
      header.become(target, message, encoded.length);
      return header;
    }
  }

  /**
   * The encoded header of one message for the targets of a shard, one after the other: most targets of a broadcast have
   * the same.
   */
  private static final class Header {
    private final long bodyId;
    private @Nullable StoredMessage stored;
    private byte[] bytes = {};

    Header(long bodyId) {
      this.bodyId = bodyId;
    }

    void become(Target target, Publication message, int size) {
      var before = stored;
      var filter = target.group() != null && target.member() != null ? target.group().key.filter() : null;
      boolean same =
          before != null
              && before.qos() == target.qos()
              && before.retain() == target.retain()
              && before.group() == null
              && filter == null
              && Arrays.equals(before.identifiers(), target.identifiers());
      if (same) return;
      var now =
          new StoredMessage(
              target.qos(),
              target.retain(),
              false,
              size,
              StoredMessage.expiresAt(message),
              target.identifiers(),
              filter,
              StoredMessage.topic(message),
              bodyId);
      stored = now;
      bytes = now.toBytes();
    }

    StoredMessage stored() {
      return Objects.requireNonNull(stored);
    }
  }

  private void write(Change change, Target target, Publication message, Header header, byte @Nullable [] content) {
    var group = target.group();
    var member = target.member();
    long sequence = inboxes.write(change, target.inbox(), header.stored(), header.bytes, content);
    change.effects().note(Step.STORED, group == null ? "" : group.key.filter().text(), target.inbox(), message);
    if (group != null && member != null) groups.assigned(change, group, member, sequence);
    else if (group != null) groups.waits(change, group, target.inbox());
    var session = target.inbox().session;
    var owner = session == null ? null : session.owner;
    if (session == null || owner == null) return;
    change
        .effects()
        .push(
            session,
            owner,
            new InboxMessage(
                sequence, target.qos(), target.retain(), false, false, target.identifiers(), message));
  }

  /** Stores a message of a group that waited in another range; it was counted there. */
  void acceptInGroup(Change change, GroupState group, Publication message) {
    byte[] encoded = StoredMessage.bytes(message);
    var target = target(change, group, message, encoded.length);
    if (target.qos() == QoS.AT_MOST_ONCE) {
      change.effects().acknowledge();
      pass(change, target, message);
      return;
    }
    inboxes.reserve(target.inbox(), encoded.length);
    write(change, target, message, new Bodies(List.of(target)).header(change, target, message, encoded), null);
  }

  /**
   * Stores a message that no member without expiry takes: for a durable member, or in the group's inbox. That of a recorded exchange is stored once, however often
   * a frontend asks for it, and the record says that it is here: the frontend may end before it has answered the publisher.
   */
  Outcome appendToGroup(Change change, AppendToGroup command) {
    var message = command.message();
    var exchange = command.exchange();
    Recorded record = null;
    if (exchange != null && exchange.isOfWill()) {
      var will = wills.sent(publisherOf(message), exchange.epoch());
      if (will == null) return new Outcome.Existed(List.of(true));
      record = will.stored == null ? null : ofWill(will, will.stored);
    } else if (exchange != null) {
      record = recordOf(state.sessions.get(publisherOf(message)), exchange.packetId(), exchange.origin());
    }
    if (record != null) {
      var stored = record.origin.storedFor(command.group());
      if (stored.isPresent()) return isHere(command.group(), stored.get()) ? new Outcome.Existed(List.of(true)) : new Outcome.Picked(stored.get(), record.birth);
    }
    var group = state.groups.get(new GroupKey(message.tenant(), command.group()));
    if (group == null) return new Outcome.Existed(List.of(false));
    var outcome = storeInGroup(change, group, message);
    if (record != null && outcome instanceof Outcome.Existed) record.becomes(change, record.origin.withPicked(storedIn(group)));
    return outcome;
  }

  /** Whether a pick is the group's shard in this range. */
  private boolean isHere(TopicFilter group, long pick) {
    return IntStream.range(state.interval.from(), state.interval.to()).anyMatch(shard -> Terms.Pick.of(group, ShardId.inbox(shard)) == pick);
  }

  private Outcome storeInGroup(Change change, GroupState group, Publication message) {
    byte[] encoded = StoredMessage.bytes(message);
    var target = target(change, group, message, encoded.length);
    if (target.qos() == QoS.AT_MOST_ONCE) {
      pass(change, target, message);
      return new Outcome.Existed(List.of(true));
    }
    var targets = new ArrayList<>(List.of(target));
    if (state.limits.overflow() == OverflowPolicy.REJECT && rejects(change, targets, encoded.length, message)) {
      return new Outcome.Full();
    }
    store(change, targets, message, encoded);
    return new Outcome.Existed(List.of(true));
  }

  /**
   * Appends the retained messages for a new subscription, always with RETAIN set [MQTT-3.3.1-8]. A message whose topic
   * may have been published to since it was read is left out, so that it is not stored behind the newer one.
   */
  Outcome appendTo(Change change, SessionState session, AppendTo command) {
    var options = command.options();
    var inbox = session.backlog();
    var changed = changedSince(change, inbox, command.from());
    var taken = new ArrayList<Boolean>(command.retained().size());
    for (Publication message : command.retained()) {
      boolean rests = changed != null && !changed.contains(StoredMessage.topic(message));
      taken.add(rests);
      if (!rests) continue;
      var qos = message.qos().min(options.maximumQoS());
      var target = new Target(inbox, null, null, qos, true, Matcher.identifiers(options));
      if (qos == QoS.AT_MOST_ONCE) pass(change, target, message);
      else store(change, new ArrayList<>(List.of(target)), message, StoredMessage.bytes(message));
    }
    return new Outcome.Appended(new InboxClient.Appended(List.copyOf(taken), inbox.next));
  }

  /**
   * Hashes of the topics whose retained messages were appended to an inbox from a sequence on. Null if they are not
   * known: some have left the inbox again, or there are too many to examine.
   */
  private @Nullable Set<Long> changedSince(Change change, Backlog inbox, long from) {
    if (from >= inbox.next) return Set.of();
    if (inbox.next - from > SINCE_MAX) return null;
    var changed = new HashSet<Long>();
    for (long sequence = from; sequence < inbox.next; sequence++) {
      var stored = inboxes.header(change, inbox, sequence);
      if (stored == null) return null;
      if (stored.topic() != StoredMessage.NONE) changed.add(stored.topic());
    }
    return changed;
  }
}
