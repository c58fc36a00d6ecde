package dunlin.inbox.repair;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.range.SessionLife;
import dunlin.inbox.rows.BodyReferences;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys.Parsed;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.Summaries;
import dunlin.model.TopicFilter;
import dunlin.runtime.LogText;
import dunlin.store.RangeReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The largest stored sessions, messages and subscriptions, found in one pass over the rows. The pass also compares the
 * headers of messages with their summaries.
 *
 * @param sessions number of sessions
 * @param messages number of messages of sessions and groups, including messages of ended ones that are not deleted yet
 * @param bytes bytes of these messages
 * @param subscriptions number of subscriptions of all sessions
 * @param largest the inboxes with most bytes
 * @param largestMessages the messages with most bytes
 * @param mostSubscriptions the sessions with most subscriptions
 * @param longestFilters the topic filters with most bytes
 * @param wrong descriptions of summaries that contradict the headers, and that a start would rely on; empty if all is
 *     well
 */
public record StoredSessions(
    long sessions,
    long messages,
    long bytes,
    long subscriptions,
    List<Inbox> largest,
    List<Message> largestMessages,
    List<Inbox> mostSubscriptions,
    List<Filter> longestFilters,
    List<String> wrong) {
  /*
   * Bounds: a few of each kind, and counts for the inbox whose rows are being read. The headers of an inbox are
   * adjacent, and so are the rows of a session. No row is kept after it was read.
   */

  /**
   * The inbox of a session or group.
   *
   * @param name the client identifier, or the group's filter as SUBSCRIBE spells it
   * @param user the user of the session; empty for a session without a user, for a group, and for an ended session
   * @param group whether it is the inbox of a group
   * @param present false if the session or group has ended and its messages are not deleted yet
   */
  public record Inbox(
      String tenant, String name, String user, boolean group, boolean present, long messages, long bytes, long subscriptions) {
    private Inbox of(String owner) {
      return new Inbox(tenant, name, owner, group, present, messages, bytes, subscriptions);
    }
  }

  /** @param name the name of the inbox, as in {@link Inbox#name} */
  public record Message(String tenant, String name, boolean group, long sequence, int bytes) {}

  public record Filter(String tenant, String clientId, String text) {
    int bytes() {
      return text.getBytes(StandardCharsets.UTF_8).length;
    }
  }

  public StoredSessions {
    largest = List.copyOf(largest);
    largestMessages = List.copyOf(largestMessages);
    mostSubscriptions = List.copyOf(mostSubscriptions);
    longestFilters = List.copyOf(longestFilters);
    wrong = List.copyOf(wrong);
  }

  /** Reads all rows. A message that several inboxes hold counts for each of them. */
  public static StoredSessions read(RangeReader rows, int most) {
    var pass = new Pass(rows, most);
    rows.scan(
        new byte[] {0}, // behind the row of the store itself
        null,
        (key, value) -> {
          if (!SessionKeys.isOfShard(key)) pass.take(key, value);
          return true;
        });
    return pass.result();
  }

  /** One session with its messages; empty if there is no such session. */
  public static Optional<Inbox> session(RangeReader rows, String tenant, String clientId) {
    byte[] first = record(rows, new SessionKey(tenant, clientId));
    byte[] record = first == null ? null : rows.get(first);
    if (first == null || record == null) return Optional.empty();
    byte[] end = first.clone();
    end[end.length - 1] = Byte.MAX_VALUE; // behind all kinds of rows of the session
    var waits = new Backlog(tenant, first, InboxDropReason.SESSION_ENDED);
    long[] subscriptions = {0};
    rows.scan(
        first,
        end,
        (row, value) -> {
          int kind = Parsed.of(row).kind();
          if (kind == SessionKeys.INBOX) Summaries.read(value, waits);
          else if (kind == SessionKeys.SUBSCRIPTION) subscriptions[0]++;
          return true;
        });
    return Optional.of(new Inbox(tenant, clientId, SessionLife.read(record).user(), false, true, waits.count(), waits.bytes(), subscriptions[0]));
  }

  /** The size in bytes of a message of a session; empty if there is no such message. */
  public static Optional<Integer> message(RangeReader rows, String tenant, String clientId, long sequence) {
    var key = new SessionKey(tenant, clientId);
    byte[] recordKey = record(rows, key);
    byte[] record = recordKey == null ? null : rows.get(recordKey);
    if (record == null) return Optional.empty();
    byte[] messages = SessionKeys.sessionMessages(key, SessionLife.read(record).birth());
    byte[] header = rows.get(SessionKeys.message(messages, sequence));
    return header == null ? Optional.empty() : Optional.of(StoredMessage.read(header).size());
  }

  /** The key of a session's record; null if no session was ever stored. */
  private static byte @Nullable [] record(RangeReader rows, SessionKey session) {
    int shards = RangeState.storedShards(rows);
    return shards == 0 ? null : SessionKeys.record(session.shard(shards), session);
  }

  /** The headers of one inbox, or the subscriptions of one session. */
  private static final class Counted {
    private final String tenant;
    private final String name;
    private final boolean group;
    private final long birth;
    private boolean present;
    private long messages;
    private long bytes;
    private long subscriptions;

    Counted(String tenant, String name, boolean group, long birth) {
      this.tenant = tenant;
      this.name = name;
      this.group = group;
      this.birth = birth;
    }

    boolean is(Parsed row, long of) {
      return birth == of && name.equals(row.name()) && tenant.equals(row.tenant());
    }

    Inbox result() {
      return new Inbox(tenant, name, "", group, present, messages, bytes, subscriptions);
    }
  }

  private static final class Pass {
    private static final long NO_BIRTH = -1;

    private final RangeReader rows;
    private final int most;
    private final Largest<Inbox> largest;
    private final Largest<Message> messages;
    private final Largest<Inbox> subscribed;
    private final Largest<Filter> filters;
    private final List<String> wrong = new ArrayList<>();
    private long sessions;
    private long count;
    private long bytes;
    private long sharing;
    private long subscriptions;
    private long summedCount;
    private long summedBytes;
    private long references;
    private @Nullable Counted inbox;
    private @Nullable Counted session;

    Pass(RangeReader rows, int most) {
      this.rows = rows;
      this.most = most;
      largest = new Largest<>(most, Inbox::bytes);
      messages = new Largest<>(most, Message::bytes);
      subscribed = new Largest<>(most, Inbox::subscriptions);
      filters = new Largest<>(most, Filter::bytes);
    }

    void take(byte[] key, byte[] value) {
      switch (SessionKeys.space(key)) {
        case SessionKeys.GROUP_MESSAGE -> message(Parsed.of(key), true, value);
        case SessionKeys.MESSAGE -> message(Parsed.of(key), false, value);
        case SessionKeys.REFERENCES -> references += BodyReferences.references(value);
        case SessionKeys.LEFT -> sum(Summaries.readLeft(SessionKeys.tenant(key), value));
        case SessionKeys.GROUP -> {
          var row = Parsed.of(key);
          if (row.kind() == SessionKeys.GROUP_INBOX) sum(summary(value));
          else if (row.kind() == SessionKeys.GROUP_QUEUE) sum(queue(groupOf(row.tenant(), row.name()), row.rest().getLong(), value));
          else if (row.kind() == SessionKeys.GROUP_TRANSFER) sum(transfer(groupOf(row.tenant(), row.name()), row.rest().getLong(), value));
        }
        case SessionKeys.SESSION -> takeSession(Parsed.of(key), value);
        default -> {} // a message
      }
    }

    private static Backlog summary(byte[] value) {
      var inbox = new Backlog("", new byte[0], InboxDropReason.SESSION_ENDED);
      Summaries.read(value, inbox);
      return inbox;
    }

    private void sum(Backlog inbox) {
      summedCount += inbox.count();
      summedBytes += inbox.bytes();
    }

    private void takeSession(Parsed row, byte[] value) {
      switch (row.kind()) {
        case SessionKeys.RECORD -> sessions++;
        case SessionKeys.INBOX -> sum(summary(value));
        case SessionKeys.SUBSCRIPTION -> {
          var of = session;
          if (of == null || !of.is(row, NO_BIRTH)) {
            endSession();
            session = of = new Counted(row.tenant(), row.name(), false, NO_BIRTH);
            of.present = true;
          }
          of.subscriptions++;
          subscriptions++;
          filters.offer(new Filter(of.tenant, of.name, StandardCharsets.UTF_8.decode(row.rest()).toString()));
        }
        default -> {} // a row of a few bytes
      }
    }

    private void message(Parsed row, boolean group, byte[] value) {
      long birth = row.rest().getLong();
      long sequence = row.rest().getLong();
      var of = inbox;
      if (of == null || of.group != group || !of.is(row, birth)) {
        endInbox();
        inbox = of = new Counted(row.tenant(), row.name(), group, birth);
      }
      var stored = StoredMessage.read(value);
      of.messages++;
      of.bytes += stored.size();
      count++;
      bytes += stored.size();
      if (BodyReferences.shared(stored.bodyId())) sharing++;
      messages.offer(new Message(of.tenant, of.name, group, sequence, stored.size()));
    }

    private void endInbox() {
      var ended = inbox;
      if (ended == null) return;
      byte[] left = rows.get(SessionKeys.left(ended.tenant, ended.birth));
      ended.present = left == null;
      var summed = left == null ? summaryOf(ended) : Summaries.readLeft(ended.tenant, left);
      if (summed == null || summed.count() != ended.messages || summed.bytes() != ended.bytes) tellWrong(ended, summed);
      largest.offer(ended.result());
    }

    private @Nullable Backlog summaryOf(Counted of) {
      byte[] value;
      if (of.group) {
        var group = groupOf(of.tenant, of.name);
        value = rows.get(SessionKeys.groupQueue(group, of.birth));
        if (value != null) return queue(group, of.birth, value);
        value = rows.get(SessionKeys.groupTransfer(group, of.birth));
        if (value != null) return transfer(group, of.birth, value);
        value = rows.get(SessionKeys.groupInbox(ShardCounters.shardOf(of.birth), group));
      } else {
        value = rows.get(SessionKeys.inbox(ShardCounters.shardOf(of.birth), new SessionKey(of.tenant, of.name)));
      }
      return value == null ? null : summary(value);
    }

    private static GroupKey groupOf(String tenant, String filter) {
      return new GroupKey(tenant, TopicFilter.parse(filter).orElseThrow());
    }

    private static Backlog queue(GroupKey group, long birth, byte[] value) {
      return Summaries.readQueue(new GroupState(group, birth, 0, true), birth, value);
    }

    private static Backlog transfer(GroupKey group, long number, byte[] value) {
      return Summaries.readTransfer(new GroupState(group, number, 0, true), number, value);
    }

    private void tellWrong(Counted of, @Nullable Backlog summed) {
      if (wrong.size() >= most) return;
      wrong.add(
          "%s \"%s\" of tenant %s has %d messages with %d bytes, and its summary says %s"
              .formatted(
                  of.group ? "group" : "client",
                  LogText.escaped(of.name),
                  LogText.escaped(of.tenant),
                  of.messages,
                  of.bytes,
                  summed == null ? "nothing" : summed.count() + " with " + summed.bytes()));
    }

    private void endSession() {
      var ended = session;
      if (ended != null) subscribed.offer(ended.result());
    }

    StoredSessions result() {
      endInbox();
      endSession();
      if (summedCount != count || summedBytes != bytes)
        wrong.add("%d messages with %d bytes wait, and all summaries say %d with %d".formatted(count, bytes, summedCount, summedBytes));
      if (references != sharing)
        wrong.add("%d waiting messages share a body, and the counts of these bodies say %d".formatted(sharing, references));
      return new StoredSessions(
          sessions, count, bytes, subscriptions, withUsers(largest), messages.descending(), withUsers(subscribed), filters.descending(),
          wrong);
    }

    /** Adds the users. Each costs a read, so this is done only for the inboxes that are listed. */
    private List<Inbox> withUsers(Largest<Inbox> inboxes) {
      return inboxes.descending().stream().map(inbox -> inbox.group() || !inbox.present() ? inbox : inbox.of(user(inbox))).toList();
    }

    private String user(Inbox session) {
      byte[] key = record(rows, new SessionKey(session.tenant(), session.name()));
      byte[] record = key == null ? null : rows.get(key);
      return record == null ? "" : SessionLife.read(record).user();
    }
  }

  /** Keeps the largest few of the values that it is offered. */
  private static final class Largest<T> {
    private final int most;
    private final Comparator<T> order;
    private final PriorityQueue<T> smallestFirst;

    Largest(int most, ToLongFunction<T> size) {
      this.most = most;
      order = Comparator.comparingLong(size);
      smallestFirst = new PriorityQueue<>(order);
    }

    void offer(T one) {
      smallestFirst.add(one);
      if (smallestFirst.size() > most) smallestFirst.remove();
    }

    List<T> descending() {
      var all = new ArrayList<>(smallestFirst);
      all.sort(order.reversed());
      return all;
    }
  }
}
