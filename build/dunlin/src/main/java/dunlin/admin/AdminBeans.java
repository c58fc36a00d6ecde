package dunlin.admin;

import dunlin.admin.busy.Queues;
import dunlin.admin.busy.Samples;
import dunlin.admin.doctor.Doctor;
import dunlin.admin.explain.Explainer;
import dunlin.admin.operate.LogbackLevels;
import dunlin.admin.peers.AllNodes;
import dunlin.admin.peers.AllTraces;
import dunlin.admin.peers.NodeBean;
import dunlin.admin.peers.OperatorSharing;
import dunlin.admin.peers.PeerBeans;
import dunlin.admin.peers.PeerCalls;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.retain.RetainReplica;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** The beans of operators that belong to no tier: of the node and what is around it, of all nodes, explanations and traces; and those of the tiers, wherever they are led. */
public final class AdminBeans {
  /*
   * Owner: the thread that starts the node makes it; then it does not change.
   */
  private final NodeBeans beans;
  private final PeerBeans peers;
  private final Doctor doctor;

  /**
   * What they say of the node.
   *
   * @param ownsProcess whether the process runs only this node, so that its log levels are this node's
   * @param diskFreeMin bytes below which the disk is too full
   * @param sessions how they are divided
   * @param unhealthy why the process should be restarted; empty when it should not
   * @param unready why no clients should be sent to it; empty when they may be
   */
  public record Of(
      String id, String version, boolean ownsProcess, Path dataDirectory, long diskFreeMin, Layout sessions, Supplier<Optional<String>> unhealthy,
      Supplier<Optional<String>> unready) {}

  /** Registers them. */
  public AdminBeans(NodeBeans beans, Of node, Tracer tracer, MeterRegistry meters) {
    this.beans = beans;
    peers = new PeerBeans(beans, node.id(), node.sessions());
    beans.register("Node", new NodeBean(node.id(), node.version(), node.unhealthy(), node.unready()));
    if (node.ownsProcess()) LogbackLevels.find().ifPresent(levels -> beans.register("Logging", levels));
    doctor = new Doctor(beans, meters, node.dataDirectory(), node.diskFreeMin(), node.unready());
    beans.register("Doctor", doctor);
    beans.register("Queues", new Queues(meters));
    beans.register("Samples", new Samples(tracer));
    beans.register("AllNodes", new AllNodes(peers));
    beans.show("AllSessions", peers.sessionsWhereverLed());
    beans.show("AllRetainedMessages", peers.whereverLed(RetainedMessagesMXBean.class, RetainReplica.KIND, "The retained messages"));
    beans.show("AllRoutes", peers.whereverLed(RoutesMXBean.class, RouteReplica.KIND, "The routes"));
    beans.register("Explanation", new Explainer(beans, peers));
    AllTraces.show(beans, peers, tracer, meters);
  }

  /**
   * Shares this node's operators with the other nodes of its cluster, once it belongs to one.
   *
   * @return to be asked each {@link OperatorSharing#TURN_SECONDS}
   */
  public Runnable share(Operators operators) {
    beans.register("Operators", operators);
    OperatorSharing sharing = new OperatorSharing(peers, operators);
    operators.spreadBy(changed -> sharing.spread(List.of(changed)));
    return sharing::turn;
  }

  /** Sets what carries questions to other nodes, once this one belongs to a cluster. */
  public void askBy(PeerCalls carrier) {
    peers.askBy(carrier);
  }

  /** Notes how far counters are; to be called every {@link Doctor#LOOK_SECONDS}. */
  public void look() {
    doctor.look();
  }

  /** All beans of the node. */
  NodeBeans all() {
    return beans;
  }

  public PeerBeans peers() {
    return peers;
  }
}
