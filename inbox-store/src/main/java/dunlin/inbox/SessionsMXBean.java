package dunlin.inbox;

import dunlin.model.SubscriptionOptions;
import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * The sessions as operators see and change them by JMX: {@code dunlin:type=Sessions,node=<id>}. What cannot be done is
 * refused with the reason.
 */
@Description("The sessions of this node's clients: those of connected clients, and durable sessions without a connection")
public interface SessionsMXBean {
  /** In a cluster with several ranges of sessions, the bean of each has this key beside its node: the UUID of the range. */
  String RANGE = "range";

  /**
   * @param tenant default, unless an authenticator assigns another one
   * @param user the user who created it; empty for a client without a user name
   * @param expirySeconds how long it outlives its connection; 0 if it ends with the connection, 4294967295 if it never
   *     expires
   * @param messages messages in its inbox that wait or are not acknowledged
   * @param bytes of these messages
   * @param oldestMillis time since the first of these messages was accepted; -1 unless sessions are compared by that
   */
  record SessionRow(
      String tenant, String clientId, String user, boolean connected, long expirySeconds, int subscriptions, int messages, long bytes, long oldestMillis) {
    /** The session with the age of the first message in its inbox. */
    public SessionRow withOldest(long millis) {
      return new SessionRow(tenant, clientId, user, connected, expirySeconds, subscriptions, messages, bytes, millis);
    }
  }

  /**
   * A subscription of a client or session.
   *
   * @param filter with $share and the name of the group, if it is shared
   * @param retainHandling when retained messages are sent: 0 always, 1 for a new subscription only, 2 never
   * @param identifier Subscription Identifier; 0 for none
   */
  record SubscriptionRow(String filter, int qos, boolean noLocal, boolean retainAsPublished, int retainHandling, int identifier) {
    public static SubscriptionRow of(String filter, SubscriptionOptions options) {
      return new SubscriptionRow(
          filter, options.maximumQoS().code(), options.noLocal(), options.retainAsPublished(), options.retainHandling(),
          options.subscriptionIdentifier());
    }
  }

  /**
   * A message in an inbox, without its payload.
   *
   * @param sequence its place in the inbox
   * @param qos with which it is sent
   * @param publisher client identifier of its publisher
   * @param bytes for which it counts in the inbox
   * @param acceptedAt in ISO format
   * @param ageSeconds time since then
   * @param expiresAt in ISO format; empty when it does not expire
   * @param sent whether it may have been sent to the client
   */
  record MessageRow(
      long sequence, String topic, int qos, boolean retain, String publisher, int bytes, int payloadBytes, String acceptedAt, long ageSeconds,
      String expiresAt, boolean sent) {}

  /** @param next the last sequence that was looked at, behind which the next page begins; {@link #END} when this is the last one */
  record MessagePage(List<MessageRow> messages, long next) {
    public static final long END = -1;

    public MessagePage {
      messages = List.copyOf(messages);
    }
  }

  /**
   * A message in an inbox.
   *
   * @param payload in Base64, at most its first 65,536 bytes
   * @param payloadBytes of the whole payload
   */
  record WaitingMessage(long sequence, String topic, int qos, String publisher, String acceptedAt, int payloadBytes, String payload) {}

  /**
   * @param filter with $share or $oshare and the name of the group
   * @param members durable sessions that have subscribed
   * @param connected those that have a connection
   * @param messages that wait for members, in an ordered group for each apart
   * @param bytes of these messages
   * @param dealt how often members were given a message, since this node has the sessions in memory
   */
  record GroupOfSessions(String filter, int members, int connected, int messages, long bytes, long dealt) {
    /** With the members of the same group in another range. */
    public GroupOfSessions and(GroupOfSessions other) {
      return new GroupOfSessions(
          filter, members + other.members, connected + other.connected, messages + other.messages, bytes + other.bytes, dealt + other.dealt);
    }
  }

  /**
   * A subscription of a client or session to a topic filter.
   *
   * @param filter with $share or $oshare and the name of the group, if it is shared
   * @param group the name of the group, of which one member gets each message; empty without one
   * @param node the one that its client is connected to; empty without a connection
   * @param durable whether its session outlives the connection
   * @param qos at most with which it gets messages
   * @param credit how many more messages of QoS 1 and 2 it may be given before it acknowledges some: of a durable member of a group those of the group, 0 while it is away, of
   *     a client whose session ends with its connection all; -1 of a durable session without a group
   * @param unacknowledged messages of QoS 1 and 2 that it was given and has not acknowledged: of a durable member of a group those of the group, of a client whose session
   *     ends with its connection all; -1 of a durable session without a group, where they are among those that wait
   * @param waiting messages of QoS 1 and 2 that wait for it: in the inbox of a durable session, or on its node
   * @param groupWaiting messages of an ordered group that wait for this durable member, and go to others when it leaves; 0 in other groups, whose messages wait for
   *     any member; -1 without a group, and of a client whose session ends with its connection, where they wait by publisher
   * @param dealt how many messages of the group it was given: a client whose session ends with its connection since it has subscribed, a durable member since the node that
   *     leads the sessions has them in memory; -1 without a group
   */
  record SubscriberRow(
      String filter, String group, String clientId, String node, boolean durable, int qos, int credit, int unacknowledged, int waiting, int groupWaiting,
      long dealt) {}

  /**
   * What a message would meet at a session.
   *
   * @param node the one that its client is connected to; empty without a connection
   * @param expirySeconds how long it outlives its connection; 0 if it ends with the connection, 4294967295 if it never expires
   * @param subscriptions number of all; those of a session that ends with its connection are not known here
   * @param matching those whose filters match the topic, at most 100
   * @param others some filters that do not, at most five
   * @param messagesMax what one inbox may hold
   * @param bytesMax the same in bytes, also by what is left for all inboxes together
   * @param overflow what becomes of a message for a full inbox: DROP_OLDEST, DROP_NEWEST or REJECT
   * @param diskRoom whether the disk has room for new messages
   */
  record SessionOutlook(
      String node, long expirySeconds, int subscriptions, List<SubscriptionRow> matching, List<String> others, int messages, long bytes, int messagesMax,
      long bytesMax, String overflow, boolean diskRoom) {
    public SessionOutlook {
      matching = List.copyOf(matching);
      others = List.copyOf(others);
    }
  }

  @Description("What a message would meet at a session, by the state at this node, which leads the sessions; empty without a session. Nothing is stored")
  List<SessionOutlook> outlook(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("Topic name") String topic);

  @Description("Shows the durable members of one shared subscription; empty when there is none")
  List<GroupOfSessions> group(
      @Description("Tenant of the clients") String tenant, @Description("Topic filter with $share or $oshare and the name of the group") String filter);

  @Description("Lists the durable sessions that have subscribed to a topic filter, in the order of their client identifiers; of a shared one, the members of the group")
  List<SubscriberRow> subscribers(
      @Description("Tenant of the clients") String tenant,
      @Description("Topic filter, with $share or $oshare and the name of the group if it is shared") String filter,
      @Description("The last client identifier of the previous page; empty for the first page") String after,
      @Description("Maximum number of sessions in the answer: 1 to 1000") @Unit("sessions") int max);

  @Description("Number of sessions of all tenants, with and without a connection")
  @Unit("sessions")
  int getSessions();

  @Description("Lists sessions whose client identifiers begin with a prefix, in the order of the client identifiers")
  List<SessionRow> list(
      @Description("Tenant of the clients: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the client identifiers; empty for all") String prefix,
      @Description("The last client identifier of the previous page; empty for the first page") String after,
      @Description("Maximum number of sessions in the answer: 1 to 1000") @Unit("sessions") int max);

  @Description(
      "Lists the sessions of all tenants with the most of something, those with most first; sessions with none of it are left out. For the age of the oldest message it"
          + " reads the first message of each inbox, of at most 10000 inboxes of a range, those with most messages")
  List<SessionRow> top(
      @Description("What they are compared by") SessionFigure by, @Description("Maximum number of sessions in the answer: 1 to 100") @Unit("sessions") int max);

  @Description("Lists the subscriptions of a durable session by their topic filters; those of a session that ends with its connection are with dunlin:type=Clients")
  List<SubscriptionRow> subscriptions(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The last topic filter of the previous page; empty for the first page") String after,
      @Description("Maximum number of subscriptions in the answer: 1 to 1000") @Unit("subscriptions") int max);

  @Description("Lists the first messages in the inbox of a session, without their payloads, and leaves them there. A page ends after 4 MiB of messages")
  MessagePage messages(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The next of the previous page; 0 for the first page") long after,
      @Description("Maximum number of messages in the answer: 1 to 100") @Unit("messages") int max);

  @Description("Shows a message in the inbox of a session with at most 65536 bytes of its payload; empty when there is none with this sequence")
  List<WaitingMessage> message(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The sequence of the message") long sequence);

  @Description("Lists the shared subscriptions with durable members, by their topic filters")
  List<GroupOfSessions> groups(
      @Description("Tenant of the clients") String tenant,
      @Description("The last topic filter of the previous page; empty for the first page") String after,
      @Description("Maximum number of groups in the answer: 1 to 1000") @Unit("groups") int max);

  @Description("Disconnects a client with 0x98. Its session stays until it expires, and its will is published. Answers whether the client was connected")
  boolean disconnect(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);

  @Description(
      "Deletes sessions whose client identifiers begin with a prefix, with their subscriptions and messages. Connected clients are disconnected with 0x98,"
          + " and wills are published. Answers how many were deleted: the maximum, or all of them")
  int delete(
      @Description("Tenant of the clients") String tenant,
      @Description("Prefix of the client identifiers; empty for all") String prefix,
      @Description("Maximum number of sessions to delete: 1 to 1000000") @Unit("sessions") int max);

  @Description("Deletes the session of one client, as delete does. Answers whether there was one")
  boolean deleteOne(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);
}
