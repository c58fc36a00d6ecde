package dunlin.inbox;

import dunlin.inbox.SessionKeys.Parsed;
import dunlin.store.RangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * What is large among stored sessions, found in one pass over their rows.
 *
 * @param sessions how many there are
 * @param messages how many wait, for sessions and groups, those of ended ones that are not deleted yet among them
 * @param bytes of these messages
 * @param subscriptions of all sessions
 * @param largest the inboxes with most bytes
 * @param largestMessages the messages with most bytes
 * @param mostSubscriptions the sessions with most subscriptions
 * @param longestFilters the topic filters with most bytes
 */
public record StoredSessions(
    long sessions,
    long messages,
    long bytes,
    long subscriptions,
    List<Inbox> largest,
    List<Message> largestMessages,
    List<Inbox> mostSubscriptions,
    List<Filter> longestFilters) {
  /*
   * Bounds: a few of each, and the inbox whose rows are being read: the rows of one stand together. A message's row is read and let go.
   */

  /** The kind of range that sessions are stored in. */
  public static final String RANGE = "sessions";

  /**
   * One session's or one group's.
   *
   * @param name the client identifier, or the group's filter as SUBSCRIBE spells it
   * @param group whether it is a group's
   * @param present whether it is there: what an ended one has left is deleted step by step
   */
  public record Inbox(String tenant, String name, boolean group, boolean present, long messages, long bytes, long subscriptions) {}

  /** @param name of the inbox, as {@link Inbox#name} */
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
  }

  /** Reads all rows. A message that several inboxes hold counts for each of them. */
  public static StoredSessions read(RangeReader rows, int most) {
    var pass = new Pass(most);
    rows.scan(
        new byte[] {1}, // behind the counters and limits
        null,
        (key, value) -> {
          pass.take(Parsed.of(key), value);
          return true;
        });
    pass.endInbox();
    return pass.result();
  }

  /** One session with what waits for it; empty when there is none. */
  public static Optional<Inbox> session(RangeReader rows, String tenant, String clientId) {
    var key = new SessionKey(tenant, clientId);
    var pass = new Pass(1);
    byte[] first = SessionKeys.record(key);
    byte[] end = first.clone();
    end[end.length - 1] = Byte.MAX_VALUE; // behind all kinds of rows of the session
    rows.scan(
        first,
        end,
        (row, value) -> {
          pass.take(Parsed.of(row), value);
          return true;
        });
    var found = pass.inbox;
    return found == null || !found.present ? Optional.empty() : Optional.of(found.result());
  }

  /** How many bytes a message of a session has; empty when it is not there. */
  public static Optional<Integer> message(RangeReader rows, String tenant, String clientId, long sequence) {
    var key = new SessionKey(tenant, clientId);
    Integer[] found = {null};
    byte[] first = SessionKeys.record(key);
    byte[] end = first.clone();
    end[end.length - 1] = SessionKeys.MESSAGE + 1;
    first[first.length - 1] = SessionKeys.MESSAGE;
    rows.scan(
        first,
        end,
        (row, value) -> {
          if (SessionKeys.sequence(row) == sequence) found[0] = StoredMessage.read(value).size();
          return true;
        });
    return Optional.ofNullable(found[0]);
  }

  private static final class Counted {
    private final String tenant;
    private final String name;
    private final boolean group;
    private boolean present;
    private long messages;
    private long bytes;
    private long subscriptions;

    Counted(String tenant, String name, boolean group) {
      this.tenant = tenant;
      this.name = name;
      this.group = group;
    }

    Inbox result() {
      return new Inbox(tenant, name, group, present, messages, bytes, subscriptions);
    }
  }

  private static final class Pass {
    private final Largest<Inbox> largest;
    private final Largest<Message> messages;
    private final Largest<Inbox> subscribed;
    private final Largest<Filter> filters;
    private long sessions;
    private long count;
    private long bytes;
    private long subscriptions;
    private @Nullable Counted inbox;

    Pass(int most) {
      largest = new Largest<>(most, Inbox::bytes);
      messages = new Largest<>(most, Message::bytes);
      subscribed = new Largest<>(most, Inbox::subscriptions);
      filters = new Largest<>(most, Filter::bytes);
    }

    void take(Parsed row, byte[] value) {
      if (row.space() == SessionKeys.BODY || row.space() == SessionKeys.CONTENT) return;
      boolean group = row.space() == SessionKeys.GROUP;
      var of = inboxOf(row.tenant(), row.name(), group);
      if (group) takeGroup(of, row, value);
      else takeSession(of, row, value);
    }

    private void takeGroup(Counted of, Parsed row, byte[] value) {
      if (row.kind() == SessionKeys.GROUP_RECORD) of.present = true;
      else if (row.kind() == SessionKeys.GROUP_MESSAGE) message(of, row.rest(), value);
    }

    private void takeSession(Counted of, Parsed row, byte[] value) {
      switch (row.kind()) {
        case SessionKeys.RECORD -> {
          of.present = true;
          sessions++;
        }
        case SessionKeys.SUBSCRIPTION -> {
          of.subscriptions++;
          subscriptions++;
          filters.offer(new Filter(of.tenant, of.name, StandardCharsets.UTF_8.decode(row.rest()).toString()));
        }
        case SessionKeys.MESSAGE -> message(of, row.rest(), value);
        default -> {} // a row of a few bytes
      }
    }

    private void message(Counted of, ByteBuffer birthAndSequence, byte[] value) {
      int size = StoredMessage.read(value).size();
      of.messages++;
      of.bytes += size;
      count++;
      bytes += size;
      messages.offer(
          new Message(of.tenant, of.name, of.group, birthAndSequence.getLong(birthAndSequence.position() + Long.BYTES), size));
    }

    private Counted inboxOf(String tenant, String name, boolean group) {
      var now = inbox;
      if (now != null && now.group == group && now.name.equals(name) && now.tenant.equals(tenant)) return now;
      endInbox();
      var next = new Counted(tenant, name, group);
      inbox = next;
      return next;
    }

    void endInbox() {
      var ended = inbox;
      if (ended == null) return;
      if (ended.messages > 0) largest.offer(ended.result());
      if (ended.subscriptions > 0) subscribed.offer(ended.result());
    }

    StoredSessions result() {
      return new StoredSessions(
          sessions, count, bytes, subscriptions, largest.descending(), messages.descending(), subscribed.descending(),
          filters.descending());
    }
  }

  /** The largest few of what it is offered. */
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
