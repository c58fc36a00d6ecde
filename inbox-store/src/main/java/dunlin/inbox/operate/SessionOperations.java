package dunlin.inbox.operate;

import dunlin.inbox.Connections;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.DurableSubscriber;
import dunlin.inbox.state.FilterSubscribers;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.inbox.state.SessionState;
import dunlin.model.TopicFilter;
import dunlin.runtime.FirstRows;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.RangeReader;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Shows sessions, deletes them and disconnects clients, for an operator. */
public final class SessionOperations implements SessionsMXBean {
  /*
   * Sessions in memory have no order: an order of a million would cost each of them memory for the sake of an operator. So a page looks at all of them, whatever its
   * filter, and keeps the first ones; this takes some tens of nanoseconds for each session. A listing that goes on keeps some thousand more for its next pages (SessionsAhead). It is done on the operator's thread, without a lock, so neither the applying
   * thread nor the readers of a range wait for it, and after each LOOKED_AT_ONCE sessions others have their turn: operators' threads are virtual, and one that never waits
   * would keep its carrier. As many pages are looked for at a time as requests are answered. A session whose whole client identifier is asked for is not looked for.
   *
   * Owner: any thread that may block.
   * Bounds: PAGE_MAX sessions at a time, listed or being deleted; what is read of rows is bounded by InboxLook. Ages are read of INBOXES_MAX inboxes of a range, which
   * takes some microseconds for each.
   * Failure: if the range refuses a deletion, the operation ends with its reason; sessions that were deleted before
   * stay deleted.
   */
  private static final Logger log = LoggerFactory.getLogger(SessionOperations.class);
  private static final int LOOKED_AT_ONCE = 16_384;
  private static final int PAGE_MAX = 1_000;
  private static final int DELETIONS_MAX = 1_000_000;
  private static final int TOP_MAX = 100;
  private static final int INBOXES_MAX = 10_000;
  private static final int MESSAGES_MAX = 100;

  private final List<SessionPart> parts;
  private final Removal removal;
  private final Connections connections;
  private final InstantSource clock;
  private final Runnable turnOfOthers;
  private final SessionsAhead ahead;

  /** Ends one session; answers whether there was such a session. */
  @FunctionalInterface
  public interface Removal {
    CompletableFuture<Boolean> remove(String tenant, String clientId);
  }

  /**
   * @param parts one for each range
   * @param turnOfOthers lets other threads have the processor, such as {@link Thread#yield}
   */
  public SessionOperations(List<SessionPart> parts, Removal removal, Connections connections, InstantSource clock, Runnable turnOfOthers) {
    this.parts = List.copyOf(parts);
    this.removal = removal;
    this.connections = connections;
    this.clock = clock;
    this.turnOfOthers = turnOfOthers;
    this.ahead = new SessionsAhead(clock);
  }

  @Override
  public int getSessions() {
    return parts.stream().mapToInt(part -> part.sessions().size()).sum();
  }

  @Override
  public List<SessionRow> list(String tenant, String prefix, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    return page(tenant, prefix, after, max).stream().map(SessionOperations::row).toList();
  }

  private static SessionRow row(SessionState session) {
    var inbox = session.backlogIfAny();
    return new SessionRow(
        session.key.tenant(),
        session.key.clientId(),
        session.user,
        session.owner() != null,
        session.expirySeconds(),
        session.subscriptionCount(),
        session.waiting(),
        inbox == null ? 0 : inbox.bytes(),
        -1);
  }

  @Override
  public List<SessionRow> top(SessionFigure by, int max) {
    NodeBeans.requireMax(max, TOP_MAX);
    if (by == SessionFigure.OLDEST) return oldest(max);
    var most = new FirstRows<>(by.mostFirst(), max);
    lookAtAll(
        session -> {
          SessionRow row = row(session);
          if (by.of(row) > 0) most.offer(row);
        });
    return most.inOrder();
  }

  /** Ages are not in memory, so the first message of each inbox is read, some inboxes in one reading. */
  private List<SessionRow> oldest(int max) {
    long now = clock.millis();
    var oldest = new FirstRows<>(SessionFigure.OLDEST.mostFirst(), max);
    for (var part : parts) {
      var fullest = new FirstRows<Filled>(Comparator.comparingInt(Filled::messages).reversed(), INBOXES_MAX);
      for (var session : part.sessions().values()) {
        int messages = session.waiting();
        if (messages > 0) fullest.offer(new Filled(session, messages));
      }
      List<SessionState> inboxes = fullest.inOrder().stream().map(Filled::session).toList();
      for (int from = 0; from < inboxes.size(); from += PAGE_MAX) {
        List<SessionState> some = inboxes.subList(from, Math.min(from + PAGE_MAX, inboxes.size()));
        oldest.offerAll(part.read(rows -> some.stream().flatMap(session -> aged(rows, session, now)).toList()));
      }
    }
    return oldest.inOrder();
  }

  /** How many messages an inbox had when it was looked at; that changes all the time. */
  private record Filled(SessionState session, int messages) {}

  private static Stream<SessionRow> aged(RangeReader rows, SessionState session, long now) {
    OptionalLong acceptedAt = InboxLook.firstAcceptedAt(rows, session);
    return acceptedAt.isEmpty() ? Stream.empty() : Stream.of(row(session).withOldest(Math.max(0, now - acceptedAt.getAsLong())));
  }

  @Override
  public List<SessionOutlook> outlook(String tenant, String clientId, String topic) {
    var key = new SessionKey(tenant, clientId);
    for (var part : parts) {
      var session = part.sessions().get(key);
      if (session == null) continue;
      SessionOutlook found = part.read(rows -> InboxLook.outlook(rows, part, session, topic));
      return List.of(found);
    }
    return List.of();
  }

  @Override
  public List<GroupOfSessions> group(String tenant, String filter) {
    var shared =
        TopicFilter.parse(filter).filter(TopicFilter::shared).orElseThrow(() -> new IllegalArgumentException("not the filter of a shared subscription"));
    var key = new GroupKey(tenant, shared);
    // Each range has the members of its own sessions, and what waits in it for them.
    return parts.stream().map(part -> part.groups().get(key)).filter(Objects::nonNull).map(SessionOperations::row).toList();
  }

  @Override
  public List<SubscriptionRow> subscriptions(String tenant, String clientId, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    return read(tenant, clientId, List.of(), (rows, _, session) -> InboxLook.subscriptions(rows, session, after, max));
  }

  @Override
  public MessagePage messages(String tenant, String clientId, long after, int max) {
    NodeBeans.requireMax(max, MESSAGES_MAX);
    if (after < 0) throw new IllegalArgumentException("a sequence is not negative");
    long now = clock.millis();
    return read(tenant, clientId, new MessagePage(List.of(), MessagePage.END), (rows, part, session) -> InboxLook.messages(rows, part, session, after, max, now));
  }

  @Override
  public List<WaitingMessage> message(String tenant, String clientId, long sequence) {
    if (sequence < 0) throw new IllegalArgumentException("a sequence is not negative");
    return read(tenant, clientId, List.of(), (rows, _, session) -> InboxLook.message(rows, session, sequence));
  }

  @FunctionalInterface
  private interface Reading<T> {
    T read(RangeReader rows, SessionPart part, SessionState session);
  }

  /** Reads rows of a session, or answers what there is without one. */
  private <T> T read(String tenant, String clientId, T none, Reading<T> reading) {
    var key = new SessionKey(tenant, clientId);
    for (var part : parts) {
      var session = part.sessions().get(key);
      if (session != null) return part.read(rows -> reading.read(rows, part, session));
    }
    return none;
  }

  /** The first sessions whose client identifiers follow another one, in the order of their client identifiers. */
  private List<SessionState> page(String tenant, String prefix, String after, int max) {
    if (max == 1 && after.isEmpty()) {
      // The session whose client identifier is the prefix comes before all others that begin with it.
      var key = new SessionKey(tenant, prefix);
      for (var part : parts) {
        var named = part.sessions().get(key);
        if (named != null) return List.of(named);
      }
    }
    boolean goesOn = !after.isEmpty();
    if (goesOn) {
      List<SessionState> known = ahead.behind(tenant, prefix, after).stream().flatMap(clientId -> present(tenant, clientId)).limit(max).toList();
      if (known.size() == max) return known;
    } else {
      ahead.begin(tenant, prefix);
    }
    Comparator<SessionState> order = Comparator.comparing(session -> session.key.clientId());
    var first = new FirstRows<>(order, goesOn ? Math.max(max, SessionsAhead.IDS_MAX) : max);
    lookAtAll(
        session -> {
          String clientId = session.key.clientId();
          if (session.key.tenant().equals(tenant) && clientId.startsWith(prefix) && clientId.compareTo(after) > 0) first.offer(session);
        });
    List<SessionState> found = first.inOrder();
    if (found.size() <= max) return found;
    ahead.keep(tenant, prefix, after, found.stream().map(session -> session.key.clientId()).toList());
    return List.copyOf(found.subList(0, max));
  }

  private Stream<SessionState> present(String tenant, String clientId) {
    var key = new SessionKey(tenant, clientId);
    return parts.stream().map(part -> part.sessions().get(key)).filter(Objects::nonNull);
  }

  private void lookAtAll(Consumer<SessionState> look) {
    int looked = 0;
    for (var part : parts) {
      for (var session : part.sessions().values()) {
        look.accept(session);
        if (++looked % LOOKED_AT_ONCE == 0) turnOfOthers.run();
      }
    }
  }

  @Override
  public List<GroupOfSessions> groups(String tenant, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    // Each range may have members of a group; the first groups of all are among the first ones of each.
    var first = new TreeMap<String, GroupOfSessions>();
    for (var part : parts) {
      var here = new FirstRows<GroupState>(Comparator.comparing(group -> group.key.filter().text()), max);
      for (GroupState group : part.groups().values()) {
        if (group.key.tenant().equals(tenant) && group.key.filter().text().compareTo(after) > 0) here.offer(group);
      }
      for (GroupState group : here.inOrder()) first.merge(group.key.filter().text(), row(group), GroupOfSessions::and);
    }
    return first.values().stream().limit(max).toList();
  }

  private static GroupOfSessions row(GroupState group) {
    return new GroupOfSessions(
        group.key.filter().text(), group.size(), group.connected().size(), group.waiting(), group.waitingBytes(), group.dealtSoFar());
  }

  @Override
  public List<SubscriberRow> subscribers(String tenant, String filter, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    TopicFilter parsed = TopicFilter.parse(filter).orElseThrow(() -> new IllegalArgumentException("not a topic filter"));
    var first = new FirstRows<SubscriberRow>(Comparator.comparing(SubscriberRow::clientId), max);
    for (var part : parts) first.offerAll(parsed.shared() ? members(part, new GroupKey(tenant, parsed), after, max) : subscribers(part, tenant, filter, after, max));
    return first.inOrder();
  }

  private static List<SubscriberRow> members(SessionPart part, GroupKey key, String after, int max) {
    GroupState group = part.groups().get(key);
    if (group == null) return List.of();
    return group.membersBehind(after).stream().limit(max).map(member -> member(group, member)).toList();
  }

  private static List<SubscriberRow> subscribers(SessionPart part, String tenant, String filter, String after, int max) {
    FilterSubscribers all = part.state().index.get(tenant, filter);
    if (all == null) return List.of();
    var first = new FirstRows<DurableSubscriber>(Comparator.comparing(each -> each.session.key.clientId()), max);
    all.forEach(
        each -> {
          if (each.session.key.clientId().compareTo(after) > 0) first.offer(each);
        });
    return first.inOrder().stream().map(each -> row(each, -1, -1, -1, -1)).toList();
  }

  /** What is of the applying thread is of about this moment. */
  private static SubscriberRow member(GroupState group, GroupMember member) {
    return row(member.subscriber, group.room(member), member.outstanding.size(), group.waitingFor(member), member.dealtSoFar());
  }

  private static SubscriberRow row(DurableSubscriber subscriber, int credit, int unacknowledged, int groupWaiting, long dealt) {
    var session = subscriber.session;
    var owner = session.owner();
    return new SubscriberRow(
        subscriber.filter.text(), subscriber.filter.group(), session.key.clientId(), owner == null ? "" : owner.frontend(), true,
        subscriber.options().maximumQoS().code(), credit, unacknowledged, session.waiting(), groupWaiting, dealt);
  }

  @Override
  public boolean disconnect(String tenant, String clientId) {
    var key = new SessionKey(tenant, clientId);
    for (var part : parts) {
      var session = part.sessions().get(key);
      var owner = session == null ? null : session.owner();
      if (owner == null) continue;
      log.info("An operator disconnects the client {}", LogText.quoted(clientId));
      connections.dismissed(owner);
      return true;
    }
    return false;
  }

  @Override
  public int delete(String tenant, String prefix, int max) {
    NodeBeans.requireMax(max, DELETIONS_MAX);
    int deleted = 0;
    String after = "";
    try {
      while (deleted < max) {
        var page = page(tenant, prefix, after, Math.min(PAGE_MAX, max - deleted));
        if (page.isEmpty()) break;
        deleted += deleteAll(page.stream().map(session -> session.key).toList());
        after = page.getLast().key.clientId();
      }
    } finally {
      log.info("An operator has deleted {} sessions of client identifiers that begin with {}", deleted, LogText.quoted(prefix));
    }
    return deleted;
  }

  @Override
  public boolean deleteOne(String tenant, String clientId) {
    var key = new SessionKey(tenant, clientId);
    if (parts.stream().noneMatch(part -> part.sessions().containsKey(key))) return false; // so a name that no client can have is never proposed
    boolean deleted = deleteAll(List.of(key)) > 0;
    if (deleted) log.info("An operator has deleted the session of the client {}", LogText.quoted(clientId));
    return deleted;
  }

  private int deleteAll(List<SessionKey> keys) {
    var answers = keys.stream().map(key -> removal.remove(key.tenant(), key.clientId())).toList();
    int deleted = 0;
    for (var answer : answers) if (SessionPart.await(answer, "sessions were not deleted")) deleted++;
    return deleted;
  }
}
