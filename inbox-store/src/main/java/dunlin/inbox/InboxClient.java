package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The session tier as frontends use it. No call blocks; a call's effect is durable when its future completes. Calls of one
 * thread take effect in their order. Futures complete on the store's threads and fail with {@link StaleSessionException}
 * or a {@code StoreException}; {@link #connect} and {@link #subscribe} also with {@link QuotaExceededException}, and {@link #connect} with
 * {@link OtherUserException}.
 */
public interface InboxClient {
  /**
   * Makes a connection the owner of its client identifier's session: one compare-and-set that raises the epoch. A session is for the user
   * who made it, as long as it lasts: for any other nothing happens.
   */
  CompletableFuture<Connected> connect(Connect request);

  /**
   * Adds or replaces subscriptions of a durable session. Completes when every publish accepted from then on sees them.
   *
   * @return for each, whether there was one with the same topic filter before
   */
  CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions);

  /**
   * Removes subscriptions of a durable session.
   *
   * @return for each, whether there was one
   */
  CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters);

  /**
   * The connection has ended. A session without expiry ends with it; otherwise the expiry starts to run.
   *
   * @param publishWill false only after DISCONNECT 0x00, which discards the will [MQTT-3.1.2-10]
   * @param sessionExpirySeconds the expiry that DISCONNECT asked for, or that of CONNECT; 0xFFFFFFFF for never
   */
  CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds);

  /**
   * Completes when everything that came over a connection of another frontend has come to its end, or will not come to one: its frontend is
   * asked, and is gone when it cannot be. Never completes with a failure.
   *
   * @param displaced as {@link #connect} has answered it
   */
  CompletableFuture<Void> settled(ConnectionId displaced);

  /**
   * A push found no connection of this frontend, which is not about to {@link #disconnect} either. Whose session it was is found out; if
   * it still has this connection, it is treated as lost.
   */
  void missing(ConnectionId connection);

  /**
   * What became of retained messages on their way to an inbox.
   *
   * @param taken for each, whether it was taken, or left out and is to be read again
   * @param next the sequence of the next message: what is read from now on is as new as all that have a lower one
   */
  record Appended(List<Boolean> taken, long next) {}

  /**
   * Appends messages to one durable session: retained messages of QoS 1 and 2 that a new subscription calls for. One whose topic may have
   * changed since it was read is left out, so that it never follows what is newer.
   *
   * @param from the first sequence of which the caller does not know whether it is newer than they
   * @return what became of them
   */
  CompletableFuture<Appended> append(
      SessionRef session, SubscriptionOptions options, long from, List<Publication> retained);

  /**
   * Takes a message of a shared subscription that none of its members elsewhere takes, for a durable member or the group's inbox.
   *
   * @return whether the group has durable members, and so whether the message was taken
   */
  CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message);

  /** The client has PUBACKed or PUBCOMPed these sequences. Recorded lazily: a crash may repeat a message, never lose one. */
  void acknowledge(SessionRef session, long[] sequences);

  /** The client has PUBRECed a sequence; PUBREL may leave when this is done [MQTT-4.3.3-6]. */
  CompletableFuture<Void> received(SessionRef session, long sequence);

  /** The client has PUBRELed its own packet identifier; PUBCOMP may leave when this is done [MQTT-4.3.3-11]. */
  CompletableFuture<Void> released(SessionRef session, int packetId);

  /**
   * Reads stored messages in order, each unacknowledged one from a sequence on.
   *
   * @param messagesMax at most so many, at least 1
   * @param bytesMax ends the page once its messages have more bytes than this; there is always room for one message
   */
  CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax);

  /** What the session tier holds and has done. Figures of one moment, each by itself. */
  CompletableFuture<Statistics> statistics();

  /**
   * @param sessions with and without a connection
   * @param online sessions that have a connection
   * @param sessionsExpired sessions that ended because their expiry interval had passed, since the start
   * @param subscriptions of durable sessions, shared ones among them
   * @param sharedSubscriptions those of them that are shared
   * @param queued messages in all inboxes
   * @param queuedBytes bytes of these, once for each inbox
   */
  record Statistics(
      long sessions, long online, long sessionsExpired, long subscriptions, long sharedSubscriptions, long queued, long queuedBytes) {
    /** Of a tier that holds nothing. */
    public static final Statistics NONE = new Statistics(0, 0, 0, 0, 0, 0, 0);

    /** Of both together. */
    public Statistics plus(Statistics other) {
      return new Statistics(
          sessions + other.sessions,
          online + other.online,
          sessionsExpired + other.sessionsExpired,
          subscriptions + other.subscriptions,
          sharedSubscriptions + other.sharedSubscriptions,
          queued + other.queued,
          queuedBytes + other.queuedBytes);
    }
  }

  /**
   * @param user who connects, as authentication found out; empty for a client that was let in without proof
   * @param durable whether the session outlives the connection; its subscriptions are then kept here. What is resumed was
   *     kept here and stays so until it ends, also when it now ends with the connection
   * @param sessionExpirySeconds 0xFFFFFFFF for never; 0 exactly when not durable
   */
  record Connect(
      String tenant,
      String clientId,
      String user,
      ConnectionId connection,
      boolean cleanStart,
      boolean durable,
      long sessionExpirySeconds,
      @Nullable Will will) {}

  /**
   * @param delaySeconds Will Delay Interval
   */
  record Will(Publication message, long delaySeconds) {}

  /**
   * @param sessionPresent whether stored state was resumed [MQTT-3.2.2-2, -3]
   * @param nextSequence the sequence of the next message that will be stored
   * @param firstUnacknowledged where to {@link #fetch} from: nothing that waits has a lower sequence; equal to {@code nextSequence}
   *     when nothing waits
   * @param receivedPacketIds of QoS 2 messages that the client published and has not released
   * @param displaced the connection that had the session that was resumed, or null
   */
  record Connected(
      SessionRef session,
      boolean sessionPresent,
      List<Subscription> subscriptions,
      long firstUnacknowledged,
      long nextSequence,
      int[] receivedPacketIds,
      @Nullable ConnectionId displaced) {}

  record Subscription(TopicFilter filter, SubscriptionOptions options) {}

  /**
   * @param nextSequence where the next page begins; what is stored from there on was not looked at
   * @param end whether nothing was stored from there on when the page was read
   */
  record Page(List<Connections.InboxMessage> messages, long nextSequence, boolean end) {}
}
