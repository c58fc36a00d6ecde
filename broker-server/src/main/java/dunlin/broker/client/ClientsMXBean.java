package dunlin.broker.client;

import dunlin.inbox.SessionsMXBean.SubscriberRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * The clients that are connected to this node, as operators see them and disconnect them by JMX: {@code dunlin:type=Clients,node=<id>}.
 * A question is put to the event loops of the clients that it is about.
 */
@Description("The clients that are connected to this node")
public interface ClientsMXBean {
  /**
   * @param node the id of the node that it is connected to
   * @param user empty for a client without a user name
   * @param address the client's, also behind a proxy that transmits it
   * @param protocol version of MQTT: 3.1, 3.1.1 or 5.0
   * @param connectedSince in ISO format
   * @param durable whether its session outlives the connection
   * @param inFlight messages of QoS 1 and 2 that were sent to it and are not acknowledged
   * @param queued messages of QoS 1 and 2 that wait on this node; more may wait in the inbox of a durable session
   * @param queuedBytes bytes of these messages
   * @param receiving its publishes of QoS 1 and 2 that are not answered
   * @param socketBytes bytes that wait for its socket
   * @param oldestMillis time since the oldest message was accepted that waits for it or is in flight to it; 0 without any
   * @param perSecond its publishes, or the messages that it is sent, a second; -1 unless clients are compared by that
   */
  record ClientRow(
      String node, String tenant, String clientId, String user, String address, String listener, String protocol, String connectedSince, boolean durable,
      int subscriptions, int inFlight, int receiving, int queued, long queuedBytes, long socketBytes, long oldestMillis, long perSecond) {}

  /**
   * @param node the id of the node that it is connected to
   * @param certificate the subject of its certificate; empty without one
   * @param keepAliveSeconds as granted; 0 for none
   * @param silentMillis time since the last byte from it, in steps of a tenth of a second; 0 without keep alive, when it is not noted
   * @param sessionExpirySeconds how long its session outlives the connection; 0 if it ends with it, 4294967295 if it never expires
   * @param receiveMaximum messages of QoS 1 and 2 that may be in flight to it
   * @param memoryBytes bytes of messages that wait or are in flight, as {@code dunlin.memory.outgoing-max} counts them
   * @param receiving its publishes of QoS 1 and 2 that are not answered
   * @param unreleased packet identifiers of its QoS 2 publishes that it has not released
   * @param will whether it has left a will
   * @param held why it is not read from at the moment; empty when it is read from
   */
  record ClientDetails(
      String node, String tenant, String clientId, String user, String address, String listener, boolean tls, String certificate, String protocol,
      String connectedSince, int keepAliveSeconds, long silentMillis, boolean durable, long sessionExpirySeconds, boolean will, int subscriptions,
      int receiveMaximum, int inFlight, int queued, long queuedBytes, long memoryBytes, long socketBytes, int receiving, int unreleased,
      List<String> held) {
    public ClientDetails {
      held = List.copyOf(held);
    }
  }

  /**
   * A message of QoS 1 or 2 between a client and its node whose exchange is not over.
   *
   * @param direction {@code out} to the client, {@code in} from it
   * @param state to the client: {@code sent}; {@code received}, its PUBREC is being recorded; {@code released}, PUBREL was sent. From the client: {@code delivering}, not
   *     all destinations have answered; {@code answered}, it waits for those before it; {@code received}, PUBREC was sent and PUBREL has not come
   * @param topic empty for a message from the client, of which only the exchange is kept
   * @param publisher client identifier of its publisher; empty as well
   * @param bytes of topic, properties and payload; -1 once PUBREC was sent, as then only the packet identifier is kept
   * @param acceptedAt in ISO format; empty as well
   * @param ageSeconds time since then; -1 as well
   */
  record InFlightRow(
      String direction, int packetId, int qos, String state, String topic, String publisher, int bytes, String acceptedAt, long ageSeconds) {
    public static final String OUT = "out";
    public static final String IN = "in";
    public static final String SENT = "sent";
    public static final String RECEIVED = "received";
    public static final String RELEASED = "released";
    public static final String DELIVERING = "delivering";
    public static final String ANSWERED = "answered";

    /** Added to the packet identifier of a message from the client, so that these come behind those to it. */
    public static final int FROM_CLIENT = 65_536;

    /** Its place in the order of exchanges, as {@link #inFlight} takes it. */
    public long place() {
      return direction.equals(IN) ? FROM_CLIENT + packetId : packetId;
    }
  }

  /**
   * A message of QoS 1 or 2 that waits for a client on its node.
   *
   * @param place 1 for the one that is sent next, at this moment
   * @param qos with which it is sent
   * @param publisher client identifier of its publisher
   * @param bytes of topic, properties and payload
   * @param acceptedAt in ISO format
   * @param ageSeconds time since then
   * @param expiresAt in ISO format; empty when it does not expire
   */
  record QueuedRow(
      int place, String topic, int qos, boolean retain, String publisher, int bytes, int payloadBytes, String acceptedAt, long ageSeconds, String expiresAt) {}

  /**
   * @param filter with $share or $oshare and the name of the group
   * @param stalled whether no member has taken a message since one of QoS 0 waited in vain
   * @param dealt how many messages members have taken since the group has members on this node
   */
  record GroupOfClients(String filter, int members, boolean stalled, long dealt) {}

  /**
   * What access rules say about a message.
   *
   * @param ruled whether any are in force for the client; without, everything is allowed
   * @param rule which one has decided, as FILE:LINE; empty when none matches, and without rules
   */
  record Permission(boolean ruled, boolean allowed, String rule) {
    public static final Permission WITHOUT_RULES = new Permission(false, true, "");
  }

  /**
   * What a message would meet at its publisher.
   *
   * @param packetBytes of the PUBLISH from it, without properties
   * @param packetBytesMax the largest packet that the client may send, by its listener and tenant
   * @param aliases whether its topic may have an alias, which makes the packet shorter
   * @param qosMax with which it may publish at most
   */
  record PublisherOutlook(Permission publishing, long packetBytes, long packetBytesMax, boolean aliases, int qosMax) {}

  /**
   * What a message would meet at a connected client.
   *
   * @param subscriptions number of all that it has
   * @param matching those whose filters match the topic, at most 100
   * @param others some filters that do not, at most five
   * @param receiving what access rules say about sending it, with the QoS and the flag RETAIN that these subscriptions give it
   * @param packetBytes of the PUBLISH to it
   * @param packetBytesMax its Maximum Packet Size; 0 for no limit
   * @param aliases whether a topic may have an alias, which makes the packet shorter
   * @param queueTakes whether there is room for this message, if it has QoS 1 or 2
   * @param sendsAtOnce whether such a message would be sent at once
   * @param tenantMaySend whether its tenant may be sent more now
   * @param writable whether the socket takes a message of QoS 0
   */
  record ClientOutlook(
      boolean durable, int subscriptions, List<SubscriptionRow> matching, List<String> others, Permission receiving, int inFlight, int receiveMaximum,
      int queued, long queuedBytes, int queuedMax, long queuedBytesMax, long packetBytes, long packetBytesMax, boolean aliases, boolean queueTakes,
      boolean sendsAtOnce, boolean tenantMaySend, boolean writable, long socketBytes) {
    public ClientOutlook {
      matching = List.copyOf(matching);
      others = List.copyOf(others);
    }
  }

  /**
   * What a message would meet at the members of a shared subscription.
   *
   * @param taking those that have room for it, or may have
   */
  record GroupOutlook(int members, int taking) {}

  @Description("Whether there are access rules for all clients; without, some may still have rules of their own")
  boolean isRuled();

  @Description("What a message would meet at a connected client; empty when it is not connected to this node. Nothing is sent")
  List<ClientOutlook> outlook(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("Client identifier of the publisher; empty for none") String publisher,
      @Description("Topic name") String topic,
      @Description("QoS of the message: 0 to 2") int qos,
      @Description("Whether the message has the flag RETAIN") boolean retain,
      @Description("Bytes of its payload: 0 to 2097152") @Unit("bytes") int bytes);

  @Description(
      "What a message would meet at a connected client that publishes it: access rules and limits on packets; empty when it is not connected to this node. Nothing is"
          + " published")
  List<PublisherOutlook> publisherOutlook(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("Topic name") String topic,
      @Description("QoS of the message: 0 to 2") int qos,
      @Description("Whether the message has the flag RETAIN") boolean retain,
      @Description("Bytes of its payload: 0 to 2097152") @Unit("bytes") int bytes);

  @Description(
      "What a message would meet at the members of a shared subscription that are connected to this node and whose sessions end with their connections."
          + " Nothing is sent")
  GroupOutlook groupOutlook(
      @Description("Tenant of the clients") String tenant,
      @Description("Topic filter with $share or $oshare and the name of the group") String filter,
      @Description("QoS of the message: 0 to 2") int qos,
      @Description("Bytes of its topic and payload") @Unit("bytes") int bytes);

  @Description("Lists connected clients in the order of their client identifiers")
  List<ClientRow> list(
      @Description("Tenant of the clients: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the client identifiers; empty for all") String prefix,
      @Description("User name of the clients; empty for all") String user,
      @Description("Name of the listener that they have connected to; empty for all") String listener,
      @Description("The last client identifier of the previous page; empty for the first page") String after,
      @Description("Maximum number of clients in the answer: 1 to 1000") @Unit("clients") int max);

  @Description(
      "Lists the connected clients of all tenants with the most of something, those with most first; clients with none of it are left out. For a rate it reads twice, half a"
          + " second apart")
  List<ClientRow> top(
      @Description("What they are compared by") ClientFigure by, @Description("Maximum number of clients in the answer: 1 to 100") @Unit("clients") int max);

  @Description("Shows one connected client; empty when it is not connected to this node")
  List<ClientDetails> get(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);

  @Description("Lists the subscriptions of a connected client in the order of their topic filters; empty when it is not connected to this node")
  List<SubscriptionRow> subscriptions(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The last topic filter of the previous page; empty for the first page") String after,
      @Description("Maximum number of subscriptions in the answer: 1 to 1000") @Unit("subscriptions") int max);

  @Description(
      "Lists the messages of QoS 1 and 2 between a connected client and this node whose exchanges are not over: those to the client, then those from it, by their packet"
          + " identifiers; empty when it is not connected to this node")
  List<InFlightRow> inFlight(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The place of the last message of the previous page: its packet identifier, and 65536 more if it is from the client; 0 for the first page") long after,
      @Description("Maximum number of messages in the answer: 1 to 200") @Unit("messages") int max);

  @Description(
      "Lists the messages of QoS 1 and 2 that wait on this node for a connected client, the next one first, without their payloads, and leaves them there; empty when"
          + " it is not connected to this node")
  List<QueuedRow> queue(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The place of the last message of the previous page; 0 for the first page") long after,
      @Description("Maximum number of messages in the answer: 1 to 100") @Unit("messages") int max);

  @Description(
      "Lists the shared subscriptions with members that are connected to this node and whose sessions end with their connections, by their topic filters")
  List<GroupOfClients> groups(
      @Description("Tenant of the clients") String tenant,
      @Description("The last topic filter of the previous page; empty for the first page") String after,
      @Description("Maximum number of groups in the answer: 1 to 1000") @Unit("groups") int max);

  @Description(
      "Lists the clients that are connected to this node, whose sessions end with their connections, and that have subscribed to a topic filter, in the order of their client"
          + " identifiers; of a shared one, the members of the group")
  List<SubscriberRow> subscribers(
      @Description("Tenant of the clients") String tenant,
      @Description("Topic filter, with $share or $oshare and the name of the group if it is shared") String filter,
      @Description("The last client identifier of the previous page; empty for the first page") String after,
      @Description("Maximum number of clients in the answer: 1 to 1000") @Unit("clients") int max);

  @Description(
      "Disconnects a client with 0x98, if it is connected to this node. Its will is published, and a durable session stays until it expires. Answers whether"
          + " the client was connected")
  boolean disconnect(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);
}
