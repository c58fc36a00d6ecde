package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.repair.StoredSessions;
import dunlin.inbox.rows.BodyReferences;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys.Parsed;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.MemberQueue;
import dunlin.inbox.state.SessionState;
import dunlin.model.TopicFilter;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Derives the summaries from all headers, read one by one. A start must come to the same state from the summaries
 * alone.
 */
final class FullRead {
  private final Map<Long, Found> inboxes = new TreeMap<>();
  private final Map<String, SortedSet<Long>> outstanding = new TreeMap<>();
  private final Map<Long, Integer> references = new HashMap<>();
  private final Map<Long, Integer> counted = new HashMap<>();
  private long messages;
  private long bytes;

  private static final class Found {
    private int count;
    private long bytes;
    private long first;
    private long last;
    private long soonest = Long.MAX_VALUE;
  }

  private FullRead(MemoryRows rows) {
    rows.scan(
        new byte[] {0},
        null,
        (key, value) -> {
          if (SessionKeys.isOfShard(key)) return true;
          assertStandsInItsShard(key);
          byte space = SessionKeys.space(key);
          if (space == SessionKeys.MESSAGE || space == SessionKeys.GROUP_MESSAGE) header(Parsed.of(key), StoredMessage.read(value));
          if (space == SessionKeys.REFERENCES) counted.put(SessionKeys.bodyId(key), BodyReferences.references(value));
          return true;
        });
  }

  private static void assertStandsInItsShard(byte[] key) {
    int shard = SessionKeys.shard(key);
    String tenant = SessionKeys.tenant(key);
    int expected =
        switch (SessionKeys.space(key)) {
          case SessionKeys.BODY, SessionKeys.REFERENCES -> BodyReferences.shardOf(SessionKeys.bodyId(key));
          case SessionKeys.LEFT -> ShardCounters.shardOf(SessionKeys.birth(key));
          case SessionKeys.GROUP -> RangeHarness.INTERVAL.of(new GroupKey(tenant, TopicFilter.parse(Parsed.of(key).name()).orElseThrow()));
          case SessionKeys.SESSION -> new SessionKey(tenant, Parsed.of(key).name()).shard(RangeHarness.SHARDS);
          default -> ShardCounters.shardOf(birthOf(key));
        };
    assertThat(shard).isEqualTo(expected);
  }

  /** The birth in the key of a message. */
  private static long birthOf(byte[] key) {
    return ByteBuffer.wrap(key).getLong(key.length - 2 * Long.BYTES);
  }

  private void header(Parsed key, StoredMessage stored) {
    long birth = key.rest().getLong();
    long sequence = key.rest().getLong();
    var inbox = inboxes.computeIfAbsent(birth, _ -> new Found());
    if (inbox.count++ == 0) inbox.first = sequence;
    inbox.last = sequence;
    inbox.bytes += stored.size();
    if (stored.expiresAt() != StoredMessage.NEVER) inbox.soonest = Math.min(inbox.soonest, stored.expiresAt());
    messages++;
    bytes += stored.size();
    if (BodyReferences.shared(stored.bodyId())) references.merge(stored.bodyId(), 1, Integer::sum);
    var group = stored.group();
    if (group != null) outstanding.computeIfAbsent(birth + " " + group.text(), _ -> new TreeSet<>()).add(sequence);
  }

  /**
   * Asserts that the state that a start derives from these rows agrees with their headers. The rows must have been
   * written just now.
   */
  static void assertAStartAgreesWithTheHeadersOf(MemoryRows rows, String as) {
    var read = new FullRead(new MemoryRows(rows));
    var range = new SessionRange(RangeHarness.INTERVAL);
    range.open(rows);
    var state = range.state();

    assertThat(state.queued).as(as).hasValue(read.messages);
    assertThat(state.queuedBytes).as(as).hasValue(read.bytes);
    assertThat(read.counted).as(as).isEqualTo(read.references);
    var unseen = new TreeMap<>(read.inboxes);
    for (SessionState session : state.sessions.values()) {
      compare(session.backlogIfAny(), unseen.remove(session.birth), as);
    }
    for (GroupState group : state.groups.values()) {
      compare(group.backlog, unseen.remove(group.birth), as);
      if (group.queues != null) for (MemberQueue queue : group.queues.all()) compare(queue, unseen.remove(queue.birth()), as);
      for (GroupMember member : group.members()) {
        var expected = read.outstanding.getOrDefault(member.session().birth + " " + group.key.filter().text(), new TreeSet<>());
        assertThat(member.outstanding).as("%s, %s in %s", as, member.clientId(), group.key).isEqualTo(expected);
      }
    }
    state.leftovers.forEach((birth, left) -> compare(left, unseen.remove(birth), as));
    assertThat(unseen).as("%s: headers that belong to nothing", as).isEmpty();
    assertThat(StoredSessions.read(rows, 3).wrong()).as(as).isEmpty();
  }

  private static void compare(@Nullable Backlog inbox, @Nullable Found found, String as) {
    if (found == null) {
      assertThat(inbox == null ? 0 : inbox.count()).as(as).isZero();
      assertThat(inbox == null ? 0 : inbox.bytes()).as(as).isZero();
      return;
    }
    if (inbox == null) throw new AssertionError(as + ": no inbox, and " + found.count + " messages in the rows");
    assertThat(inbox.count()).as(as).isEqualTo(found.count);
    assertThat(inbox.bytes()).as(as).isEqualTo(found.bytes);
    assertThat(inbox.first()).as(as).isLessThanOrEqualTo(found.first);
    assertThat(inbox.next()).as(as).isGreaterThan(found.last);
    if (inbox.session != null) assertThat(inbox.expiresNext()).as(as).isLessThanOrEqualTo(found.soonest);
  }
}
