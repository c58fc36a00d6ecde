package dunlin.admin.explain;

import dunlin.admin.peers.PeerBeans;
import dunlin.admin.peers.PeerBeans.Gathered;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientOutlook;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.cluster.ClusterMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.SessionOutlook;
import dunlin.retain.RetainReplica;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.runtime.metrics.SettingsMXBean;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Function;

/** Explains by the beans of the node, and of those that have what it does not have. */
public final class Explainer implements ExplanationMXBean {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: one client, one session with its subscriptions, one page of routes.
   * Failure: what the beans of this node throw. What another node has and does not say in time is an unknown step, which names it.
   */
  private static final int TOPIC_MAX = 65_535;

  private static final String ACTIVE = "active";

  private final NodeBeans beans;
  private final PeerBeans peers;

  public Explainer(NodeBeans beans, PeerBeans peers) {
    this.beans = beans;
    this.peers = peers;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException when there can be no such message
   * @throws NoSuchElementException when there is certainly no such client: it is not connected here, and the leader of the sessions has none of
   *     it
   * @throws IllegalStateException when the node cannot say anything now
   */
  @Override
  public Explanation explain(String tenant, String clientId, String topic, String publisher, int qos, boolean retain, int bytes, long expirySeconds) {
    check(topic);
    if (clientId.isEmpty()) throw new IllegalArgumentException("a client identifier has at least one character");
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("QoS is 0, 1 or 2, not " + qos);
    if (bytes < 0 || bytes > BYTES_MAX) throw new IllegalArgumentException("a payload has 0 to %d bytes, not %d".formatted(BYTES_MAX, bytes));
    if (expirySeconds < -1 || expirySeconds > EXPIRY_MAX) {
      throw new IllegalArgumentException("a message expires after 0 to %d s, or never (-1), not after %d".formatted(EXPIRY_MAX, expirySeconds));
    }
    Optional<SessionsMXBean> sessions = peers.sessions();
    if (sessions.isEmpty() && beans.find(ClientsMXBean.class).isEmpty()) throw new IllegalStateException("the node is starting, or it serves no clients");
    Tried<List<SessionOutlook>> stored =
        sessions.map(bean -> Tried.of(() -> bean.outlook(tenant, clientId, topic))).orElseGet(() -> Tried.failed("the sessions are not served yet, since the node is starting"));
    Optional<SessionOutlook> session = stored.answer().flatMap(found -> found.stream().findFirst());
    Home home = home(bean -> bean.outlook(tenant, clientId, publisher, topic, qos, retain, bytes), session, stored.answer().isPresent());
    if (home.online().isEmpty() && session.isEmpty() && stored.answer().isPresent()) {
      throw new NoSuchElementException(
          "The client is not connected, and the tenant %s has no session of it: it has ended, or there was never one.".formatted(tenant));
    }
    Map<String, String> settings = beans.find(SettingsMXBean.class).map(SettingsMXBean::getEffective).orElseGet(Map::of);
    Walk.Known known =
        new Walk.Known(
            peers, home.node(), home.silence(), stored.why(), sessions, peers.led(RoutesMXBean.class, RouteReplica.KIND, "The routes"),
            peers.led(RetainedMessagesMXBean.class, RetainReplica.KIND, "The retained messages"), settings, beans.find(ClusterMXBean.class).isPresent(),
            beans.find(TenantsMXBean.class).map(bean -> bean.tenant(tenant).stream().anyMatch(row -> !row.state().equals(ACTIVE))).orElse(false));
    return new Walk(known, new Walk.Asked(tenant, clientId, topic, publisher, qos, retain, bytes, expirySeconds), home.online(), session).explain();
  }

  /**
   * The node that the client is connected to.
   *
   * @param node this one when it is not connected, or not known to be
   * @param silence why a node has not said whether it is; else empty
   */
  private record Home(String node, Optional<ClientOutlook> online, String silence) {}

  /** This node is asked first, then the one that the session names; all of them when the session is not known. */
  private Home home(Function<ClientsMXBean, List<ClientOutlook>> question, Optional<SessionOutlook> session, boolean sessionsKnown) {
    Optional<ClientOutlook> here = beans.find(ClientsMXBean.class).flatMap(bean -> question.apply(bean).stream().findFirst());
    if (here.isPresent()) return new Home(peers.node(), here, "");
    if (!sessionsKnown) {
      Gathered<List<ClientOutlook>> all = peers.ofFrontends(ClientsMXBean.class, question);
      return all.answers().entrySet().stream()
          .filter(each -> !each.getValue().isEmpty())
          .findFirst()
          .map(each -> new Home(each.getKey(), Optional.of(each.getValue().getFirst()), ""))
          .orElseGet(() -> new Home(peers.node(), Optional.empty(), String.join("; ", all.unanswered())));
    }
    String there = session.map(SessionOutlook::node).orElse("");
    if (there.isEmpty() || there.equals(peers.node())) return new Home(peers.node(), Optional.empty(), "");
    Tried<List<ClientOutlook>> asked = Tried.of(() -> peers.at(there, ClientsMXBean.class).map(question).orElseGet(List::of));
    return new Home(there, asked.answer().flatMap(found -> found.stream().findFirst()), asked.why());
  }

  private static void check(String topic) {
    int length = topic.getBytes(StandardCharsets.UTF_8).length;
    if (length == 0 || length > TOPIC_MAX) throw new IllegalArgumentException("a topic name has 1 to %d bytes".formatted(TOPIC_MAX));
    if (topic.chars().anyMatch(c -> c == '+' || c == '#' || c == 0)) {
      throw new IllegalArgumentException("a topic name has no wildcards, + and #, and no character U+0000");
    }
    if (topic.matches("(?s)\\$o?share(/.*)?")) throw new IllegalArgumentException("a topic name does not begin with $share or $oshare");
  }
}
