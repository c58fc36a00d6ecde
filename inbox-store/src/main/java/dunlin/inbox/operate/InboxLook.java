package dunlin.inbox.operate;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.MatchingFilters;
import dunlin.inbox.SessionsMXBean.MessagePage;
import dunlin.inbox.SessionsMXBean.MessageRow;
import dunlin.inbox.SessionsMXBean.SessionOutlook;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.inbox.SessionsMXBean.WaitingMessage;
import dunlin.inbox.rows.SessionFields;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.FieldReader;
import dunlin.store.RangeReader;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Reads the subscriptions of a session and the messages of its inbox from their rows, and leaves them as they are. */
final class InboxLook {
  /*
   * Owner: a reader thread of the range.
   * Bounds: a page has as many rows as its caller asks for, and of messages BYTES_MAX bytes and one message more, of which one is in
   * memory at a time.
   * Failure: a message that is acknowledged between the reading of its header and of itself is left out.
   */
  /** Bytes of the messages of a page, with their payloads, which are read and not shown. */
  private static final int BYTES_MAX = 4 * 1_024 * 1_024;

  /** Bytes of a payload that are shown. */
  private static final int PAYLOAD_MAX = 65_536;

  private InboxLook() {}

  private record Header(long sequence, StoredMessage stored) {}

  /** The first subscriptions behind that of a topic filter. */
  static List<SubscriptionRow> subscriptions(RangeReader rows, SessionState session, String after, int max) {
    byte[] all = SessionKeys.subscription(session.shard, session.key, "");
    byte[] end = all.clone();
    end[end.length - 1]++;
    byte[] last = SessionKeys.subscription(session.shard, session.key, after);
    List<SubscriptionRow> found = new ArrayList<>();
    rows.scan(
        last,
        end,
        (key, value) -> {
          if (!Arrays.equals(key, last)) {
            found.add(SubscriptionRow.of(filterOf(key, all.length), options(value)));
          }
          return found.size() < max;
        });
    return found;
  }

  /** What a message would meet; reads all subscriptions of the session. */
  static SessionOutlook outlook(RangeReader rows, SessionPart part, SessionState session, String topic) {
    MatchingFilters filters = new MatchingFilters(topic);
    byte[] all = SessionKeys.subscription(session.shard, session.key, "");
    byte[] end = all.clone();
    end[end.length - 1]++;
    rows.scan(
        all,
        end,
        (key, value) -> {
          TopicFilter.parse(filterOf(key, all.length)).ifPresent(filter -> filters.offer(filter, options(value)));
          return true;
        });
    ConnectionId owner = session.owner();
    Backlog inbox = session.backlogIfAny();
    RangeState state = part.state();
    InboxLimits limits = state.limits;
    String tenant = session.key.tenant();
    long held = inbox == null ? 0 : inbox.bytes();
    long left = Math.min(state.bytesLeftForOne(), state.bytesLeftByTenant(tenant, held, part.mostOfTenant().applyAsLong(tenant)));
    return new SessionOutlook(
        owner == null ? "" : owner.frontend(), session.expirySeconds(), session.subscriptionCount(), filters.matching(), filters.others(),
        session.waiting(), held, limits.messagesMax(), Math.min(limits.bytesMax(), left),
        limits.overflow().name(), part.range().hasDiskRoom());
  }

  static String filterOf(byte[] key, int prefix) {
    return new String(key, prefix, key.length - prefix, StandardCharsets.UTF_8);
  }

  static SubscriptionOptions options(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          RangeState.expectFormat(in.octet());
          return SessionFields.readOptions(in);
        });
  }

  /** The first messages behind a sequence. */
  static MessagePage messages(RangeReader rows, SessionPart part, SessionState session, long after, int max, long now) {
    Backlog inbox = session.backlogIfAny();
    if (inbox == null) return new MessagePage(List.of(), MessagePage.END);
    List<Header> headers = new ArrayList<>();
    long[] bytes = {0};
    rows.scan(
        inbox.key(after + 1),
        inbox.key(-1),
        (key, value) -> {
          Header header = new Header(SessionKeys.sequence(key), StoredMessage.read(value));
          headers.add(header);
          bytes[0] += header.stored().size();
          return headers.size() < max && bytes[0] <= BYTES_MAX;
        });
    boolean full = headers.size() == max || bytes[0] > BYTES_MAX;
    long sentBelow = part.sentBelow(session, inbox);
    List<MessageRow> found = new ArrayList<>(headers.size());
    for (Header header : headers) {
      Publication message = message(rows, session, inbox, header.sequence(), header.stored());
      if (message != null) found.add(row(header, message, header.sequence() < sentBelow, now));
    }
    return new MessagePage(found, full ? headers.getLast().sequence() : MessagePage.END);
  }

  /** When the first message in the inbox was accepted, milliseconds since 1970; empty without any. */
  static OptionalLong firstAcceptedAt(RangeReader rows, SessionState session) {
    Backlog inbox = session.backlogIfAny();
    if (inbox == null) return OptionalLong.empty();
    @Nullable Header[] first = {null};
    rows.scan(
        inbox.key(inbox.first()),
        inbox.key(-1),
        (key, value) -> {
          first[0] = new Header(SessionKeys.sequence(key), StoredMessage.read(value));
          return false;
        });
    Header header = first[0];
    Publication message = header == null ? null : message(rows, session, inbox, header.sequence(), header.stored());
    return message == null ? OptionalLong.empty() : OptionalLong.of(message.acceptedAtMillis());
  }

  private static MessageRow row(Header header, Publication message, boolean sent, long now) {
    StoredMessage stored = header.stored();
    return new MessageRow(
        header.sequence(), message.topic(), stored.qos().code(), stored.retain(), message.publisher().clientId(), stored.size(), message.payloadLength(),
        Instant.ofEpochMilli(message.acceptedAtMillis()).toString(), Math.max(0, now - message.acceptedAtMillis()) / 1_000,
        stored.expiresAt() == StoredMessage.NEVER ? "" : Instant.ofEpochMilli(stored.expiresAt()).toString(), sent);
  }

  /** One message with its payload; empty when there is none of this sequence. */
  static List<WaitingMessage> message(RangeReader rows, SessionState session, long sequence) {
    Backlog inbox = session.backlogIfAny();
    byte[] header = inbox == null ? null : rows.get(inbox.key(sequence));
    if (inbox == null || header == null) return List.of();
    StoredMessage stored = StoredMessage.read(header);
    Publication message = message(rows, session, inbox, sequence, stored);
    if (message == null) return List.of();
    int from = message.payloadOffset();
    byte[] shown = Arrays.copyOfRange(message.body(), from, from + Math.min(PAYLOAD_MAX, message.payloadLength()));
    return List.of(
        new WaitingMessage(
            sequence, message.topic(), stored.qos().code(), message.publisher().clientId(), Instant.ofEpochMilli(message.acceptedAtMillis()).toString(),
            message.payloadLength(), Base64.getEncoder().encodeToString(shown)));
  }

  /** The message of a header; null when it has left the inbox since that was read. */
  static @Nullable Publication message(RangeReader rows, SessionState session, Backlog inbox, long sequence, StoredMessage stored) {
    boolean own = stored.bodyId() == StoredMessage.OWN;
    byte[] bytes = rows.get(own ? SessionKeys.content(inbox.key(sequence)) : SessionKeys.body(session.key.tenant(), stored.bodyId()));
    return bytes == null ? null : StoredMessage.message(bytes);
  }
}
