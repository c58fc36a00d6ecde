package dunlin.inbox.operate;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.SessionExports.Begun;
import dunlin.inbox.SessionExports.Ended;
import dunlin.inbox.SessionExports.OfGroup;
import dunlin.inbox.SessionExports.Page;
import dunlin.inbox.SessionExports.Part;
import dunlin.inbox.SessionExports.Subscribed;
import dunlin.inbox.SessionExports.Waiting;
import dunlin.inbox.operate.ExportPosition.Stage;
import dunlin.inbox.range.SessionLife;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.SessionKeys.Parsed;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads one page of an export: durable sessions in the order of their rows, and what waits in groups behind those of all ranges. */
final class ExportReading {
  /*
   * Owner: one export, which waits while reader threads of the ranges read for it.
   * Bounds: partsMax parts and one more, bytesMax bytes and one part more; a page also ends when it has looked at EXAMINED_MAX rows, so that many sessions which are
   * not exported do not hold up a reader. The exchanges of a session are read at once: 65,535 at most.
   * Failure: a session that ends while it is read is left without its end. A message that is acknowledged between the reading of its header and of itself is left out.
   */
  private static final int EXAMINED_MAX = 20_000;

  private final List<SessionPart> ranges;
  private final String tenant;
  private final String prefix;
  private final int partsMax;
  private final long bytesMax;
  private final long now;

  private final List<Part> parts = new ArrayList<>();
  private long bytes;
  private int examined;

  ExportReading(List<SessionPart> ranges, String tenant, String prefix, int partsMax, long bytesMax, long now) {
    this.ranges = ranges;
    this.tenant = tenant;
    this.prefix = prefix;
    this.partsMax = partsMax;
    this.bytesMax = bytesMax;
    this.now = now;
  }

  /** Ends before a range that is not here, whose leader reads the next page. */
  Page read(byte @Nullable [] from) {
    ExportPosition at = from == null ? ExportPosition.sessions(0) : ExportPosition.decode(from);
    SessionPart range = rangeOf(at);
    if (range == null) throw ExportPosition.none(null);
    while (at != null && range != null && !full()) {
      at = inRange(at, range);
      range = at == null ? null : rangeOf(at);
    }
    return new Page(parts, at == null ? null : at.encode());
  }

  private @Nullable SessionPart rangeOf(ExportPosition at) {
    for (SessionPart range : ranges) if (intervalOf(range).contains(at.shard())) return range;
    return null;
  }

  private static ShardInterval intervalOf(SessionPart range) {
    return range.state().interval;
  }

  private boolean full() {
    return parts.size() >= partsMax || bytes > bytesMax || examined >= EXAMINED_MAX;
  }

  private void add(Part part, long size) {
    parts.add(part);
    bytes += size;
  }

  /** Reads in one range. Answers where to go on, or null at the end of all. */
  private @Nullable ExportPosition inRange(ExportPosition at, SessionPart range) {
    ExportPosition next = range.read(rows -> inRange(rows, range, at));
    if (next.shard() < intervalOf(range).to()) return next;
    if (next.shard() < intervalOf(range).shards()) return begin(next.ofGroups(), next.shard());
    return next.ofGroups() || !prefix.isEmpty() ? null : begin(true, 0);
  }

  private static ExportPosition begin(boolean groups, int shard) {
    return groups ? ExportPosition.groups(shard) : ExportPosition.sessions(shard);
  }

  /** Answers the first shard behind the range when all of it was read. */
  private ExportPosition inRange(RangeReader rows, SessionPart range, ExportPosition from) {
    ExportPosition at = from;
    while (!full() && at.shard() < intervalOf(range).to()) {
      at =
          switch (at.stage()) {
            case SESSION, NEXT_SESSION -> session(rows, at);
            case MESSAGES -> messages(rows, range, at);
            case SUBSCRIPTIONS -> subscriptions(rows, at);
            case GROUP, NEXT_GROUP -> group(rows, at);
            case QUEUES -> queue(rows, at);
            case GROUP_INBOX -> groupInbox(rows, range, at);
          };
    }
    return at;
  }

  private record Row(byte[] key, byte[] value) {}

  /** The first row that is wanted; null when there is none. */
  private @Nullable Row first(RangeReader rows, byte[] from, byte[] to, Predicate<byte[]> wanted) {
    List<Row> found = new ArrayList<>(1);
    rows.scan(
        from,
        to,
        (key, value) -> {
          examined++;
          if (wanted.test(key)) found.add(new Row(key, value));
          return found.isEmpty();
        });
    return found.isEmpty() ? null : found.getFirst();
  }

  /** Begins with the next session. */
  private ExportPosition session(RangeReader rows, ExportPosition at) {
    byte space = SessionKeys.SESSION;
    boolean next = at.stage() == Stage.NEXT_SESSION;
    if (next && !at.name().startsWith(prefix)) throw ExportPosition.none(null); // that of an export with another prefix
    byte[] from = next ? SessionKeys.behindOne(at.shard(), tenant, space, at.name()) : SessionKeys.allOf(at.shard(), tenant, space, prefix);
    byte[] to = SessionKeys.behindAllOf(at.shard(), tenant, space, prefix);
    Row row = first(rows, from, to, key -> Parsed.of(key).kind() == SessionKeys.RECORD);
    if (row == null) return ExportPosition.sessions(at.shard() + 1);
    String clientId = Parsed.of(row.key()).name();
    SessionLife.Stored stored = SessionLife.read(row.value());
    if (!exported(stored)) return at.at(Stage.NEXT_SESSION, clientId, 0);
    List<Integer> received = received(rows, at.shard(), new SessionKey(tenant, clientId));
    add(new Begun(clientId, stored.user(), received), clientId.length() + stored.user().length() + 6L * received.size());
    return at.at(Stage.MESSAGES, clientId, stored.birth());
  }

  private boolean exported(SessionLife.Stored stored) {
    return stored.expirySeconds() > 0 && stored.lives(now) && !SessionImporter.has(stored.owner());
  }

  private static List<Integer> received(RangeReader rows, int shard, SessionKey session) {
    List<Integer> received = new ArrayList<>();
    byte[] behind = SessionKeys.exchange(shard, session, 0);
    behind[behind.length - 3]++; // the kind of the row
    rows.scan(SessionKeys.exchange(shard, session, 0), behind, (key, _) -> received.add(Short.toUnsignedInt(Parsed.of(key).rest().getShort())));
    return received;
  }

  private ExportPosition messages(RangeReader rows, SessionPart range, ExportPosition at) {
    SessionState session = range.sessions().get(new SessionKey(tenant, at.name()));
    if (session == null || session.birth() != at.birth()) return at.at(Stage.NEXT_SESSION);
    Backlog inbox = session.backlogIfAny();
    if (inbox == null) return at.at(Stage.SUBSCRIPTIONS, at.name(), at.birth());
    long sentBelow = range.sentBelow(session, inbox);
    List<Header> headers = headers(rows, SessionKeys.sessionMessages(session.key, at.birth()), at.sequence());
    for (Header header : headers) {
      StoredMessage stored = header.stored();
      boolean sent = header.sequence() < sentBelow;
      // An exchange that may have begun continues whatever its expiry [MQTT-4.3.3-7, -13].
      if (stored.expired(now) && !sent) continue;
      Publication message = InboxLook.message(rows, session, inbox, header.sequence(), stored);
      if (message == null) continue;
      add(
          new Waiting(at.name(), new InboxMessage(header.sequence(), stored.qos(), stored.retain(), stored.released(), sent, stored.identifiers(), message)),
          at.name().length() + stored.size());
    }
    return headers.isEmpty() ? at.at(Stage.SUBSCRIPTIONS, at.name(), at.birth()) : at.behind(headers.getLast().sequence());
  }

  private record Header(long sequence, StoredMessage stored) {}

  /** Headers that have room in the page behind a sequence of an inbox or queue; none at its end. */
  private List<Header> headers(RangeReader rows, byte[] inbox, long after) {
    List<Header> headers = new ArrayList<>();
    long[] size = {bytes};
    rows.scan(
        SessionKeys.message(inbox, after + 1),
        SessionKeys.message(inbox, -1),
        (key, value) -> {
          Header header = new Header(SessionKeys.sequence(key), StoredMessage.read(value));
          headers.add(header);
          size[0] += header.stored().size();
          examined++;
          return parts.size() + headers.size() < partsMax && size[0] <= bytesMax && examined < EXAMINED_MAX;
        });
    return headers;
  }

  private ExportPosition subscriptions(RangeReader rows, ExportPosition at) {
    SessionKey session = new SessionKey(tenant, at.name());
    byte[] record = rows.get(SessionKeys.record(at.shard(), session));
    SessionLife.Stored stored = record == null ? null : SessionLife.read(record);
    if (stored == null || stored.birth() != at.birth()) return at.at(Stage.NEXT_SESSION);
    byte[] all = SessionKeys.subscription(at.shard(), session, "");
    byte[] behind = all.clone();
    behind[behind.length - 1]++;
    String[] last = {at.filter()};
    boolean[] more = {false};
    rows.scan(
        SessionKeys.subscription(at.shard(), session, at.filter()),
        behind,
        (key, value) -> {
          String text = InboxLook.filterOf(key, all.length);
          if (text.equals(at.filter())) return true;
          if (full()) {
            more[0] = true;
            return false;
          }
          examined++;
          TopicFilter.parse(text).ifPresent(filter -> add(new Subscribed(at.name(), filter, InboxLook.options(value)), at.name().length() + 2L * text.length()));
          last[0] = text;
          return true;
        });
    if (more[0]) return at.behind(last[0]);
    add(new Ended(at.name(), left(stored)), at.name().length());
    return at.at(Stage.NEXT_SESSION);
  }

  /** The seconds that a session has left; all of them while it is connected. */
  private long left(SessionLife.Stored stored) {
    if (stored.owner() != null || stored.deadline() == SessionState.NEVER) return stored.expirySeconds();
    return Math.clamp((stored.deadline() - now + 999) / 1_000, 1, SessionState.NEVER_SECONDS - 1);
  }

  private ExportPosition group(RangeReader rows, ExportPosition at) {
    byte space = SessionKeys.GROUP;
    boolean next = at.stage() == Stage.NEXT_GROUP;
    byte[] from = next ? SessionKeys.behindOne(at.shard(), tenant, space, at.name()) : SessionKeys.allOf(at.shard(), tenant, space, "");
    Row row = first(rows, from, SessionKeys.behindAllOf(at.shard(), tenant, space, ""), key -> Parsed.of(key).kind() == SessionKeys.GROUP_RECORD);
    return row == null ? ExportPosition.groups(at.shard() + 1) : at.at(Stage.QUEUES, Parsed.of(row.key()).name(), 0);
  }

  /** What waits for one member. What waits for former members comes before what waits for any. */
  private ExportPosition queue(RangeReader rows, ExportPosition at) {
    GroupKey group = group(at);
    if (group == null) return at.at(Stage.NEXT_GROUP);
    if (at.birth() != 0 && ShardCounters.shardOf(at.birth()) != at.shard()) throw ExportPosition.none(null);
    byte[] summaries = SessionKeys.allOf(at.shard(), tenant, SessionKeys.GROUP, at.name() + '\0' + (char) SessionKeys.GROUP_QUEUE);
    byte[] behind = summaries.clone();
    behind[behind.length - 1]++;
    Row row = first(rows, at.birth() == 0 ? summaries : SessionKeys.groupQueue(group, at.birth()), behind, _ -> true);
    if (row == null) return at.at(Stage.GROUP_INBOX);
    long birth = SessionKeys.birth(row.key());
    ExportPosition within = birth == at.birth() ? at : at.at(Stage.QUEUES, at.name(), birth);
    return ofGroup(rows, group, birth, within, within.at(Stage.QUEUES, at.name(), birth + 1));
  }

  private ExportPosition groupInbox(RangeReader rows, SessionPart range, ExportPosition at) {
    GroupKey group = group(at);
    GroupState present = group == null ? null : range.groups().get(group);
    if (group == null || present == null) return at.at(Stage.NEXT_GROUP);
    return ofGroup(rows, group, present.birth, at, at.at(Stage.NEXT_GROUP));
  }

  private @Nullable GroupKey group(ExportPosition at) {
    return TopicFilter.parse(at.name()).filter(TopicFilter::shared).map(filter -> new GroupKey(tenant, filter)).orElse(null);
  }

  private ExportPosition ofGroup(RangeReader rows, GroupKey group, long birth, ExportPosition at, ExportPosition then) {
    List<Header> headers = headers(rows, SessionKeys.groupMessages(group, birth), at.sequence());
    for (Header header : headers) {
      byte[] body = header.stored().expired(now) ? null : rows.get(SessionKeys.body(tenant, header.stored().bodyId()));
      if (body != null) add(new OfGroup(group.filter(), StoredMessage.message(body)), at.name().length() + header.stored().size());
    }
    return headers.isEmpty() ? then : at.behind(headers.getLast().sequence());
  }
}
