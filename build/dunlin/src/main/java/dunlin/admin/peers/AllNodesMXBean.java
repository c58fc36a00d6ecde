package dunlin.admin.peers;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.admin.ledger.LedgerMXBean.HopRow;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean.ClientDetails;
import dunlin.broker.client.ClientsMXBean.ClientRow;
import dunlin.broker.client.ClientsMXBean.InFlightRow;
import dunlin.broker.client.ClientsMXBean.QueuedRow;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * The clients of all nodes of the cluster, and how the nodes are, from any of them by JMX: {@code dunlin:type=AllNodes,node=<id>}. It asks the other nodes, each of
 * which has 2 s to answer.
 */
@Description("The clients of all nodes of the cluster, and how the nodes are; the other nodes are asked, and have 2 s to answer")
public interface AllNodesMXBean {
  /** @param unanswered a sentence for each node that has not answered, whose clients are missing */
  record ClientPage(List<ClientRow> clients, List<String> unanswered) {
    public ClientPage {
      clients = List.copyOf(clients);
      unanswered = List.copyOf(unanswered);
    }
  }

  /**
   * A shared subscription.
   *
   * @param filter with $share or $oshare and the name of the group
   * @param clients members of all nodes whose sessions end with their connections
   * @param stalled whether on one of the nodes none of these has taken a message since one of QoS 0 waited in vain
   * @param sessions durable members; -1 when the leader of the sessions has not answered
   * @param sessionsConnected those that are connected; -1 as well
   * @param messages that wait for durable members, in an ordered group for each apart; -1 as well
   * @param bytes of these messages, or -1 as well
   * @param clientsDealt how many messages the members without durable sessions have taken, at each node since it has some
   * @param sessionsDealt how often durable members were given a message, since the leader has the sessions in memory; -1 as well
   */
  record SharedGroup(
      String filter, int clients, boolean stalled, int sessions, int sessionsConnected, int messages, long bytes, long clientsDealt, long sessionsDealt) {}

  /**
   * Who has subscribed.
   *
   * @param next behind which the next page begins; empty on the last one
   * @param unanswered a sentence for each node that has not answered, whose clients are missing
   */
  record SubscriberPage(List<SubscriberRow> subscribers, String next, List<String> unanswered) {
    public SubscriberPage {
      subscribers = List.copyOf(subscribers);
      unanswered = List.copyOf(unanswered);
    }
  }

  /** @param unanswered a sentence for each node that has not answered, whose members are missing */
  record GroupPage(List<SharedGroup> groups, List<String> unanswered) {
    public GroupPage {
      groups = List.copyOf(groups);
      unanswered = List.copyOf(unanswered);
    }
  }

  /**
   * How a node is.
   *
   * @param state of the node in the cluster: JOINED, SUSPECT, DOWN, DRAINING or LEFT; JOINED for a node without a cluster
   * @param health {@code alive}, why the process should be restarted, or that it has not answered
   * @param readiness {@code ready}, why no clients should be sent to it, or that it has not answered
   */
  record NodeHealth(String node, String host, String state, boolean healthy, String health, boolean ready, String readiness, String version, long uptimeSeconds) {}

  /**
   * What one check has found at a node.
   *
   * @param verdict ok, warning, wrong or unknown
   * @param finding a sentence
   * @param remedy a sentence; empty when all is well
   */
  record NodeFinding(String node, String check, String verdict, String finding, String remedy) {
    public static NodeFinding of(String node, Finding found) {
      return new NodeFinding(node, found.check(), found.verdict(), found.finding(), found.remedy());
    }
  }

  /** @param unanswered a sentence for each node that has not answered, whose hops are missing */
  record LedgerOfNodes(List<HopRow> hops, List<String> unanswered) {
    public LedgerOfNodes {
      hops = List.copyOf(hops);
      unanswered = List.copyOf(unanswered);
    }
  }

  @Description("Lists the connected clients of all nodes in the order of their client identifiers")
  ClientPage clients(
      @Description("Tenant of the clients: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the client identifiers; empty for all") String prefix,
      @Description("User name of the clients; empty for all") String user,
      @Description("Name of the listener that they have connected to; empty for all") String listener,
      @Description("The last client identifier of the previous page; empty for the first page") String after,
      @Description("Maximum number of clients in the answer: 1 to 1000") @Unit("clients") int max);

  @Description("Lists the connected clients of all nodes and tenants with the most of something, those with most first; clients with none of it are left out")
  ClientPage top(
      @Description("What they are compared by") ClientFigure by, @Description("Maximum number of clients in the answer: 1 to 100") @Unit("clients") int max);

  @Description("Shows one connected client, wherever it is connected; empty when it is not connected")
  List<ClientDetails> client(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);

  @Description("Lists the subscriptions of a connected client in the order of their topic filters; empty when it is not connected")
  List<SubscriptionRow> subscriptions(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The last topic filter of the previous page; empty for the first page") String after,
      @Description("Maximum number of subscriptions in the answer: 1 to 1000") @Unit("subscriptions") int max);

  @Description("Lists the messages of QoS 1 and 2 between a connected client and its node whose exchanges are not over; empty when it is not connected")
  List<InFlightRow> inFlight(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The place of the last message of the previous page; 0 for the first page") long after,
      @Description("Maximum number of messages in the answer: 1 to 200") @Unit("messages") int max);

  @Description("Lists the messages of QoS 1 and 2 that wait on its node for a connected client, the next one first; empty when it is not connected")
  List<QueuedRow> queue(
      @Description("Tenant of the client") String tenant,
      @Description("Its client identifier") String clientId,
      @Description("The place of the last message of the previous page; 0 for the first page") long after,
      @Description("Maximum number of messages in the answer: 1 to 100") @Unit("messages") int max);

  @Description(
      "Disconnects a client with 0x98, wherever it is connected. Its will is published, and a durable session stays until it expires. Answers whether the client"
          + " was connected")
  boolean disconnect(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);

  @Description("Lists the shared subscriptions with members on any node, and with durable members, by their topic filters")
  GroupPage groups(
      @Description("Tenant of the clients") String tenant,
      @Description("The last topic filter of the previous page; empty for the first page") String after,
      @Description("Maximum number of groups in the answer: 1 to 1000") @Unit("groups") int max);

  @Description(
      "Lists the connected clients of all nodes and the durable sessions that have subscribed to a topic filter, in the order of their client identifiers; of a shared one, the"
          + " members of the group")
  SubscriberPage subscribers(
      @Description("Tenant of the clients") String tenant,
      @Description("Topic filter, with $share or $oshare and the name of the group if it is shared") String filter,
      @Description("The next of the previous page; empty for the first page") String after,
      @Description("Maximum number of subscribers in the answer: 1 to 1000") @Unit("subscribers") int max);

  @Description(
      "Lists the connected clients of all nodes and the durable sessions that get messages of a topic, by the topic filters that they have subscribed to; of a group, one gets"
          + " each message. Access rules are not looked at")
  SubscriberPage receivers(
      @Description("Tenant of the clients") String tenant,
      @Description("Topic name") String topic,
      @Description("The next of the previous page; empty for the first page") String after,
      @Description("Maximum number of subscribers in the answer: 1 to 1000") @Unit("subscribers") int max);

  @Description("Says how each node of the cluster is, and why it is not ready or healthy")
  List<NodeHealth> health();

  @Description("Lets each node of the cluster look for what is wrong around it, and compares their clocks with that of this one; changes nothing")
  List<NodeFinding> examine();

  @Description("What has become of messages at each hop of each node since it started, as the beans Ledger of the nodes say")
  LedgerOfNodes ledger();
}
