package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The session tier's interface for frontends. No call blocks; a call's effect is durable when its future completes.
 * Calls of one thread take effect in their order. Futures complete on the store's threads and fail with {@link
 * StaleSessionException} or a {@code StoreException}; {@link #connect} and {@link #subscribe} also with {@link
 * QuotaExceededException}, and {@link #connect} with {@link OtherUserException}.
 */
public interface InboxClient {
  /**
   * The ranges of sessions that may be led by different nodes, and lost one by one. Each takes calls for its own sessions. A frontend has connections of a life
   * of its own in each of them.
   */
  default List<InboxClient> ranges() {
    return List.of(this);
  }

  /** The number of the range of a client's session, from 0. */
  default int rangeOf(String tenant, String clientId) {
    return 0;
  }

  /**
   * Makes a connection the owner of its client identifier's session: one compare-and-set that raises the epoch. A
   * session belongs to the user who created it until it ends. For any other user the call fails and changes nothing.
   */
  CompletableFuture<Connected> connect(Connect request);

  /**
   * The same for a client that may give up before it has the session: a call that waits until it can be made is not made then. It fails at once, on the thread
   * that gives up, with {@link WithdrawnException}. One that was made is answered as ever.
   *
   * @param over completes when the client does not wait any more
   */
  default CompletableFuture<Connected> connect(Connect request, CompletableFuture<Void> over) {
    return connect(request);
  }

  /**
   * Adds or replaces subscriptions of a durable session. Completes when every publish that is accepted from then on is
   * matched against them.
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
   * Reports that the connection has ended. A session without expiry ends with it; otherwise its expiry interval starts.
   *
   * @param publishWill false only after DISCONNECT 0x00, which discards the will [MQTT-3.1.2-10]
   * @param sessionExpirySeconds the Session Expiry Interval of DISCONNECT, or else that of CONNECT; 0xFFFFFFFF for
   *     never
   */
  CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds);

  /**
   * Completes when all packets that came over a connection of another frontend have been processed, or that frontend
   * cannot be reached and counts as lost. Never completes with a failure.
   *
   * @param displaced as answered by {@link #connect}
   */
  CompletableFuture<Void> settled(ConnectionId displaced);

  /**
   * Reports that a push named a connection that this frontend does not have and will not {@link #disconnect}. The tier
   * looks for the session that has this connection; if there is one, the connection counts as lost.
   */
  void missing(ConnectionId connection);

  /**
   * The result of appending retained messages to an inbox.
   *
   * @param taken for each message, true if it was appended, false if it was left out and must be read again
   * @param next the sequence of the next message; retained messages that are read from now on are at least as new as
   *     the messages with lower sequences
   */
  record Appended(List<Boolean> taken, long next) {}

  /**
   * Appends messages to one durable session: the retained messages of QoS 1 and 2 for a new subscription. A message
   * whose topic may have changed since it was read is left out, so that it is never stored behind a newer one.
   *
   * @param from the first sequence whose message may be newer than the retained messages
   * @return which were appended
   */
  CompletableFuture<Appended> append(
      SessionRef session, SubscriptionOptions options, long from, List<Publication> retained);

  /**
   * Stores a message of a shared subscription for a durable member or in the group's inbox. Called when no member
   * without expiry takes it.
   *
   * @param exchange the recorded QoS 2 exchange of the message, whose picks do not matter: then a second call stores nothing, and the record says that the
   *     message is here. Null for none
   * @return whether the group has durable members, and so whether the message was taken
   */
  CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange);

  /**
   * Records that the client has sent PUBACK or PUBCOMP for these sequences. Recorded lazily: a crash may repeat a
   * message but never loses one.
   */
  void acknowledge(SessionRef session, long[] sequences);

  /** Records that the client has sent PUBREC for a sequence. PUBREL may be sent when this completes [MQTT-4.3.3-6]. */
  CompletableFuture<Void> received(SessionRef session, long sequence);

  /**
   * Records that the client has sent PUBREL for its own packet identifier. PUBCOMP may be sent when this completes
   * [MQTT-4.3.3-11]: then no range takes the next message with that identifier for this one.
   *
   * @param birth of the session, from {@link Connected}
   */
  CompletableFuture<Void> released(SessionRef session, long birth, int packetId);

  /**
   * Has one of the {@link #ranges} forget an exchange of a session that another range has, whether it has stored the message or not. What comes from an earlier
   * connection of the session is refused there from then on. {@link #released} does this first; it is called at a range alone, and may be called again.
   *
   * @param birth of the session
   */
  CompletableFuture<Void> forget(SessionRef session, long birth, int packetId);

  /**
   * Records that connected sessions have the messages of exchanges that this connection, or an earlier one, has recorded; the session may have a later owner.
   * Without it, a PUBLISH that the client repeats over its next connection is delivered to them again, and their frontends have to recognise it.
   *
   * @param packetIds those of the exchanges, which the client has not released
   */
  CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds);

  /** Answers whether another connection has taken the session from the one that got this reference. False as well when the session has ended since. */
  CompletableFuture<Boolean> isTakenOver(SessionRef session);

  /**
   * Reads the unacknowledged messages from a sequence on, in order.
   *
   * @param messagesMax maximum number of messages, at least 1
   * @param bytesMax the page ends with the message that exceeds this number of bytes; it always has room for one
   *     message
   */
  CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax);

  /**
   * Statistics of the session tier. Each figure is read separately, so they need not be consistent with each other.
   */
  CompletableFuture<Statistics> statistics();

  /**
   * @param sessions all sessions, with and without a connection
   * @param online sessions that have a connection
   * @param sessionsExpired sessions that ended because their expiry interval had passed, since the leaders of their ranges began
   * @param subscriptions of durable sessions, shared ones among them
   * @param sharedSubscriptions the shared ones among them
   * @param queued messages in all inboxes
   * @param queuedBytes bytes of these messages; a message counts once for each inbox that holds it
   */
  record Statistics(
      long sessions, long online, long sessionsExpired, long subscriptions, long sharedSubscriptions, long queued, long queuedBytes) {
    /** Statistics of an empty tier. */
    public static final Statistics NONE = new Statistics(0, 0, 0, 0, 0, 0, 0);

    /** The sums of both. */
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
   * @param user the authenticated user; empty for a client that was admitted without authentication
   * @param durable whether the session outlives the connection; its subscriptions are then stored here. A resumed
   *     session was stored here and stays so until it ends, even if it now ends with the connection
   * @param sessionExpirySeconds 0xFFFFFFFF for never; 0 if and only if the session is not durable
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

  /** @param delaySeconds Will Delay Interval */
  record Will(Publication message, long delaySeconds) {}

  /**
   * @param birth the epoch of the session's first connection, which tells it from earlier sessions of the client
   * @param sessionPresent whether stored state was resumed [MQTT-3.2.2-2, -3]
   * @param nextSequence the sequence of the next message that will be stored
   * @param firstUnacknowledged where to {@link #fetch} from: no waiting message has a lower sequence; equal to
   *     {@code nextSequence} if no message waits
   * @param receivedPacketIds packet identifiers of QoS 2 messages that the client published and has not released
   * @param openExchanges those of them whose messages connected sessions may not have; none in a broker that runs alone
   * @param displaced the connection that this one has taken the place of, also with Clean Start; null without one
   */
  record Connected(
      SessionRef session,
      long birth,
      boolean sessionPresent,
      List<Subscription> subscriptions,
      long firstUnacknowledged,
      long nextSequence,
      int[] receivedPacketIds,
      List<OpenExchange> openExchanges,
      @Nullable ConnectionId displaced) {}

  record Subscription(TopicFilter filter, SubscriptionOptions options) {}

  /**
   * @param nextSequence where the next page begins; messages from there on were not examined
   * @param end whether no message was stored from there on when the page was read
   */
  record Page(List<Connections.InboxMessage> messages, long nextSequence, boolean end) {}
}
