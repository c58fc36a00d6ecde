package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Exports durable sessions whole, a page at a time, and makes sessions of what was exported; on the node that leads their ranges. All calls block.
 *
 * <p>The parts of a session follow one another: {@link Begun}, its messages in their order, its subscriptions, {@link Ended}. An import may get them in several calls.
 * Until {@code Ended} has come the session has no subscriptions, is not found by exports, and ends by itself when nothing more comes, or the leader changes.
 */
public interface SessionExports {
  /** The highest sequence of an imported message: a JSON number has room for it, and the inbox for all that come behind it. */
  long SEQUENCE_MAX = (1L << 53) - 1;

  /** A part of an export. */
  sealed interface Part {
    /** The client identifier; empty for a message of a group. */
    String clientId();
  }

  /** @param received packet identifiers of QoS 2 messages that the client has published and has not released */
  record Begun(String clientId, String user, List<Integer> received) implements Part {
    public Begun {
      received = List.copyOf(received);
    }
  }

  /** A message of QoS 1 or 2 in its inbox; {@code delivered} says whether it may have been sent. */
  record Waiting(String clientId, Connections.InboxMessage message) implements Part {}

  record Subscribed(String clientId, TopicFilter filter, SubscriptionOptions options) implements Part {}

  /** @param expirySeconds how long it lives from now on without a connection; 0xFFFFFFFF for ever */
  record Ended(String clientId, long expirySeconds) implements Part {}

  /** A message of QoS 1 or 2 that waits for any member of a group. */
  record OfGroup(TopicFilter group, Publication message) implements Part {
    @Override
    public String clientId() {
      return "";
    }
  }

  /** @param next where the next page begins; null on the last one. A page may have no parts and a next one */
  record Page(List<Part> parts, byte @Nullable [] next) {
    public Page {
      parts = List.copyOf(parts);
    }
  }

  /**
   * What the broker lets sessions have that are imported, beside the bounds of the session tier.
   *
   * @param subscriptionsMax the most subscriptions of a session
   * @param refused why sessions are refused that have something which no client may have here; by client identifier
   */
  record Allowed(int subscriptionsMax, Map<String, String> refused) {
    /** All that the tier takes. */
    public static final Allowed ALL = new Allowed(Integer.MAX_VALUE, Map.of());

    public Allowed {
      refused = Map.copyOf(refused);
    }
  }

  /**
   * What became of the parts of one call.
   *
   * @param sessions those whose import has ended, and which are there now
   * @param existing those that were there before, and were left as they were
   * @param unfinished those that were given up, because another one has followed before they were {@link Ended}
   * @param messages those that are in inboxes now, also of groups
   * @param expired messages whose Message Expiry Interval has passed
   * @param refused how many sessions or messages were refused, by reason
   */
  record Imported(int sessions, int existing, int unfinished, int messages, int expired, Map<String, Integer> refused) {
    public Imported {
      refused = Map.copyOf(refused);
    }
  }

  /** The clock by which sessions and messages expire here, in milliseconds since 1970. */
  long now();

  /**
   * Reads durable sessions as they are stored, and then, without a prefix, what waits in groups.
   *
   * @param prefix of the client identifiers; empty for all
   * @param from next of the page before; null for the first page
   * @param partsMax maximum number of parts, or one more
   * @param bytesMax the page ends with the part that exceeds this number of bytes
   * @throws IllegalArgumentException when no page has given {@code from}
   * @throws IllegalStateException when nothing can be read now
   */
  Page page(String tenant, String prefix, byte @Nullable [] from, int partsMax, int bytesMax);

  /**
   * Imports parts in their order; calls may be repeated, and then change nothing but for messages of groups. A session is refused as a whole, so that none is there which
   * lacks a part without its client knowing.
   *
   * @throws IllegalStateException when a range could not be asked; what was done before stays
   */
  Imported importAll(String tenant, List<Part> parts, Allowed allowed);
}
