package dunlin.admin.peers;

import dunlin.admin.doctor.DoctorMXBean;
import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.admin.doctor.PeerClock;
import dunlin.admin.ledger.LedgerMXBean;
import dunlin.admin.peers.PeerBeans.Gathered;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientDetails;
import dunlin.broker.client.ClientsMXBean.ClientRow;
import dunlin.broker.client.ClientsMXBean.GroupOfClients;
import dunlin.broker.client.ClientsMXBean.InFlightRow;
import dunlin.broker.client.ClientsMXBean.QueuedRow;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.inbox.SessionsMXBean.GroupOfSessions;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/** Puts the answers of all nodes together. */
public final class AllNodes implements AllNodesMXBean {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: each node answers with the first rows of the page, so the first ones of all nodes are among these, and a page costs as many rows of each node.
   * Failure: PeerBeans. A question about one client that no node has, while some did not answer, is unanswered.
   */
  /** What {@link PeerBeans#led} says of the sessions. */
  public static final String SESSIONS = "The sessions";

  private static final String ALIVE = "alive";
  private static final String READY = "ready";
  private static final Comparator<ClientRow> BY_NAME = Comparator.comparing(ClientRow::clientId).thenComparing(ClientRow::node);

  private final PeerBeans peers;

  public AllNodes(PeerBeans peers) {
    this.peers = peers;
  }

  @Override
  public ClientPage clients(String tenant, String prefix, String user, String listener, String after, int max) {
    return first(peers.ofFrontends(ClientsMXBean.class, bean -> bean.list(tenant, prefix, user, listener, after, max)), BY_NAME, max);
  }

  @Override
  public ClientPage top(ClientFigure by, int max) {
    return first(peers.ofFrontends(ClientsMXBean.class, bean -> bean.top(by, max)), Comparator.<ClientRow>comparingLong(by::of).reversed().thenComparing(BY_NAME), max);
  }

  private static ClientPage first(Gathered<List<ClientRow>> gathered, Comparator<ClientRow> order, int max) {
    return new ClientPage(gathered.answers().values().stream().flatMap(List::stream).sorted(order).limit(max).toList(), gathered.unanswered());
  }

  @Override
  public List<ClientDetails> client(String tenant, String clientId) {
    return ofOne(bean -> bean.get(tenant, clientId));
  }

  @Override
  public List<SubscriptionRow> subscriptions(String tenant, String clientId, String after, int max) {
    return atItsNode(tenant, clientId, bean -> bean.subscriptions(tenant, clientId, after, max));
  }

  @Override
  public List<InFlightRow> inFlight(String tenant, String clientId, long after, int max) {
    return atItsNode(tenant, clientId, bean -> bean.inFlight(tenant, clientId, after, max));
  }

  @Override
  public List<QueuedRow> queue(String tenant, String clientId, long after, int max) {
    return atItsNode(tenant, clientId, bean -> bean.queue(tenant, clientId, after, max));
  }

  /** What the node says that a client is connected to; nothing when it is not connected. */
  private <R> List<R> atItsNode(String tenant, String clientId, Function<ClientsMXBean, List<R>> question) {
    List<ClientDetails> connected = client(tenant, clientId);
    if (connected.isEmpty()) return List.of();
    return peers.at(connected.getFirst().node(), ClientsMXBean.class).map(question).orElseGet(List::of);
  }

  @Override
  public boolean disconnect(String tenant, String clientId) {
    return !ofOne(bean -> bean.disconnect(tenant, clientId) ? List.of(true) : List.of()).isEmpty();
  }

  /** What the node says that a client is connected to; this one is asked before the others. */
  private <R> List<R> ofOne(Function<ClientsMXBean, List<R>> question) {
    Optional<List<R>> own = peers.at(peers.node(), ClientsMXBean.class).map(question).filter(found -> !found.isEmpty());
    if (own.isPresent()) return own.get();
    Gathered<List<R>> gathered = peers.ofOtherFrontends(ClientsMXBean.class, question);
    List<R> found = gathered.answers().values().stream().flatMap(List::stream).toList();
    if (found.isEmpty() && !gathered.unanswered().isEmpty()) {
      throw PeerBeans.unanswered("the client is not connected to a node that has answered; " + String.join("; ", gathered.unanswered()));
    }
    return found;
  }

  @Override
  public GroupPage groups(String tenant, String after, int max) {
    Gathered<List<GroupOfClients>> gathered = peers.ofFrontends(ClientsMXBean.class, bean -> bean.groups(tenant, after, max));
    List<String> unanswered = new ArrayList<>(gathered.unanswered());
    Optional<List<GroupOfSessions>> durable = durable(tenant, after, max, unanswered);
    int none = durable.isPresent() ? 0 : -1;
    Map<String, SharedGroup> groups = new TreeMap<>();
    for (List<GroupOfClients> ofNode : gathered.answers().values()) {
      for (GroupOfClients each : ofNode) {
        groups.merge(
            each.filter(), new SharedGroup(each.filter(), each.members(), each.stalled(), none, none, none, none, each.dealt(), none),
            (one, other) ->
                new SharedGroup(
                    one.filter(), one.clients() + other.clients(), one.stalled() || other.stalled(), none, none, none, none,
                    one.clientsDealt() + other.clientsDealt(), none));
      }
    }
    for (GroupOfSessions each : durable.orElseGet(List::of)) {
      groups.compute(
          each.filter(),
          (filter, beside) ->
              new SharedGroup(
                  filter, beside == null ? 0 : beside.clients(), beside != null && beside.stalled(), each.members(), each.connected(), each.messages(),
                  each.bytes(), beside == null ? 0 : beside.clientsDealt(), each.dealt()));
    }
    return new GroupPage(groups.values().stream().limit(max).toList(), unanswered);
  }

  /** Empty when the leader of the sessions does not answer, and before there is one. */
  private Optional<List<GroupOfSessions>> durable(String tenant, String after, int max, List<String> unanswered) {
    try {
      return peers.sessions().map(bean -> bean.groups(tenant, after, max));
    } catch (UncheckedIOException silent) {
      unanswered.add(String.valueOf(silent.getMessage()));
      return Optional.empty();
    }
  }

  @Override
  public SubscriberPage subscribers(String tenant, String filter, String after, int max) {
    return new Subscribers(peers, tenant).of(filter, after, max);
  }

  @Override
  public SubscriberPage receivers(String tenant, String topic, String after, int max) {
    return new Subscribers(peers, tenant).ofTopic(topic, after, max);
  }

  /** What a node says of itself. */
  private record Said(String unhealthy, String unready, String version, long uptimeSeconds) {
    static Said by(NodeMXBean node) {
      return new Said(node.getUnhealthy(), node.getUnready(), node.getVersion(), node.getUptimeSeconds());
    }
  }

  private static boolean isMember(NodeRow row) {
    return !row.state().equals("LEFT");
  }

  @Override
  public List<NodeHealth> health() {
    List<NodeRow> nodes = peers.nodes().stream().filter(AllNodes::isMember).toList();
    Gathered<Said> gathered = peers.ofAll(NodeMXBean.class, AllNodes::isMember, Said::by);
    if (nodes.isEmpty()) return gathered.answers().entrySet().stream().map(each -> health(each.getKey(), "", "JOINED", each.getValue())).toList();
    return nodes.stream()
        .map(
            row -> {
              Said said = gathered.answers().get(row.id());
              if (said != null) return health(row.id(), row.host(), row.state(), said);
              String why = gathered.silent().getOrDefault(row.id(), "it has not answered");
              return new NodeHealth(row.id(), row.host(), row.state(), false, why, false, why, "", 0);
            })
        .toList();
  }

  private static NodeHealth health(String node, String host, String state, Said said) {
    boolean healthy = said.unhealthy().isEmpty();
    boolean ready = said.unready().isEmpty();
    return new NodeHealth(
        node, host, state, healthy, healthy ? ALIVE : said.unhealthy(), ready, ready ? READY : said.unready(), said.version(), said.uptimeSeconds());
  }

  @Override
  public List<NodeFinding> examine() {
    Gathered<Finding> clocks = peers.ofAll(NodeMXBean.class, AllNodes::isMember, this::clock);
    Gathered<List<Finding>> found = peers.ofAll(DoctorMXBean.class, AllNodes::isMember, DoctorMXBean::examine);
    List<NodeFinding> all = new ArrayList<>();
    found.answers().forEach((node, findings) -> findings.forEach(each -> all.add(NodeFinding.of(node, each))));
    clocks.answers().forEach(
        (node, clock) -> {
          if (!node.equals(peers.node())) all.add(NodeFinding.of(node, clock));
        });
    found.silent().forEach(
        (node, why) ->
            all.add(
                new NodeFinding(
                    node, "answer", DoctorMXBean.WRONG, "It was not examined: %s.".formatted(why),
                    "Start the node, or mend the network to it; one that is gone for good is taken out by bin/dunlinctl cluster leave-node.")));
    return all;
  }

  @Override
  public LedgerOfNodes ledger() {
    Gathered<List<LedgerMXBean.HopRow>> gathered = peers.ofPresent(LedgerMXBean.class, LedgerMXBean::getHops);
    return new LedgerOfNodes(gathered.answers().values().stream().flatMap(List::stream).toList(), gathered.unanswered());
  }

  private Finding clock(NodeMXBean of) {
    long before = System.currentTimeMillis();
    long there = of.getTimeMillis();
    return PeerClock.compare(peers.node(), before, System.currentTimeMillis(), there);
  }
}
