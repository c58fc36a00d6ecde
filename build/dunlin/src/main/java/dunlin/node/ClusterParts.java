package dunlin.node;

import dunlin.admin.peers.PeerAnswers;
import dunlin.broker.Frontend;
import dunlin.broker.loop.Tiers;
import dunlin.broker.tenant.TenantLimit;
import dunlin.cluster.Cluster;
import dunlin.dist.DistSettings;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.links.LinkDialler;
import dunlin.links.LinkService;
import dunlin.links.QuestionCalls;
import dunlin.links.QuestionService;
import dunlin.retain.RetainClient;
import dunlin.tiers.AgreedQuota;
import dunlin.tiers.Agreement;
import dunlin.tiers.ClusterTiers;
import dunlin.transport.link.Link;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * What every node of a cluster is composed of: its membership, its part in the tiers, and a frontend. In a node without the role frontend the latter has no
 * listeners, and only publishes the wills of the sessions that the node leads.
 */
final class ClusterParts {
  /*
   * Owner: the thread that starts the node.
   */
  private final BrokerParts broker;
  private final ClusterMember member;
  private final ClusterTiers tiers;
  private final Cluster cluster;
  private final MissingRoles missing;
  private final Foundation node;

  // The admin port asks for it, and is open before there is a member or a tier.
  private final AtomicReference<Supplier<Optional<String>>> unserved = new AtomicReference<>(Optional::empty);

  /** Opens all of them. Nothing is started, and no other node is called yet. */
  ClusterParts(Foundation node) {
    this.node = node;
    NodeRoles roles = NodeRoles.of(node.settings());
    broker = new BrokerParts(node, roles, () -> unserved.get().get());
    member = new ClusterMember(node);
    UUID self = node.identity().nodeId();
    LinkService links = node.opening(new LinkService(self, member::host, node.meters()));
    LinkDialler dials = node.opening(new LinkDialler(self, Link.Settings.defaults(), member.tls(), links, node.meters()));
    AgreedQuota inboxBytes =
        new AgreedQuota(
            broker.frontend().quotaOfTenants(TenantLimit.INBOX_BYTES),
            agreement("the limit " + TenantLimit.INBOX_BYTES.label() + " of tenants", of -> node.peers().unreadyForInboxLimits(of)));
    node.everySeconds(1, inboxBytes::look);
    Agreement recordedWills = agreement("the record of wills that are sent", of -> node.peers().unreadyForRecordedWills(of));
    node.everySeconds(1, recordedWills::look);
    tiers =
        node.opening(
            new ClusterTiers(
                new ClusterTiers.Parts(
                    broker.frontend(), links, dials, node.embedding().surroundings(), node.meters(), node.tracer(), node.metrics().beans(), broker::sessionExports,
                    limit -> limit == TenantLimit.INBOX_BYTES ? inboxBytes : broker.frontend().quotaOfTenants(limit), recordedWills::isReached, broker.clock(), node.timer(),
                    node.settings().get(ClusterKeys.HEARTBEAT), broker.routesAnnounced(), node.settings().get(DistSettings.ROUTES_KEPT),
                    () -> CompletableFuture.supplyAsync(node::raiseIncarnation, node.housekeeping())),
                broker.dist(), DeliverSettings.from(node.settings()), broker.inbox(), broker.retain(), broker.users()));
    QuestionService questions = new QuestionService(self, member::host, new PeerAnswers(node.metrics().beans())::answer, node.meters());
    QuestionCalls asked = node.opening(new QuestionCalls(self, member.tls(), node.meters()));
    cluster = member.join(ClusterKeys.member(node.settings(), broker.hasUsers()), tiers.kinds(roles.kinds()), List.of(links, questions));
    tiers.in(cluster);
    missing = MissingRoles.of(cluster);
    node.remarkBy(missing::sentences);
    node.askBy(
        (to, question, deadline) ->
            asked.ask(tiers.peer(to).orElseThrow(() -> new IOException("has no address that this node knows")), question, deadline));
  }

  private Agreement agreement(String subject, Function<Set<String>, SequencedMap<String, String>> unready) {
    return new Agreement(subject, () -> node.peers().others(), () -> node.peers().presentOthers(), unready);
  }

  /**
   * Joins the cluster, and opens the frontend.
   *
   * @param retained what clients see of the retained messages
   */
  void start(UnaryOperator<RetainClient> retained) {
    member.start();
    node.everySeconds(1, missing::look);
    Frontend frontend = broker.frontend();
    frontend.open(new Tiers(tiers.dist(), retained.apply(tiers.retained()), tiers.sessions(), false, tiers::mayHaveClients));
    broker.showExports(tiers.retained());
    tiers.followAccess().ifPresent(broker::serveUsers); // a node without clients checks the wills that it sends
  }

  /** Sets why clients, or other nodes, should not count on this node; empty when they may. */
  void unservedBy(Supplier<Optional<String>> reason) {
    unserved.set(reason);
  }

  BrokerParts broker() {
    return broker;
  }

  ClusterMember member() {
    return member;
  }

  ClusterTiers tiers() {
    return tiers;
  }

  Cluster cluster() {
    return cluster;
  }
}
