package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.Fit;
import dunlin.cluster.call.ClusterAnswer.Unfit;
import dunlin.cluster.call.ClusterCall.AskProgress;
import dunlin.cluster.call.ClusterCall.CarryOut;
import dunlin.cluster.call.ClusterCall.FindCut;
import dunlin.cluster.call.ClusterCall.Hello;
import dunlin.cluster.call.ClusterCall.Join;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ClusterCall.Report;
import dunlin.cluster.call.ClusterCall.Watch;
import dunlin.cluster.call.ClusterCall;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.cluster.call.RefusalLog;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.store.grpc.Caller;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Whether a node that starts fits into the cluster: its settings that must be the same everywhere are, its times go together with those of the other nodes, and no other
 * process has its identity. A node that starts asks its seeds. Each seed answers for itself and from the map that it knows. Also whether a caller is the node in
 * whose name it calls.
 */
final class JoinCheck {
  /*
   * Owner: any thread that may block: an answer may take a call to a third node.
   * Bounds: one call for each question.
   * Failure: a third node that does not answer is no reason to refuse.
   */
  private static final Duration OTHER_DEADLINE = Duration.ofSeconds(1);

  /** The roles in the row of a node that only accepts clients. */
  private static final String NOT_SET = "not set";
  private static final Set<String> FRONTEND = Set.of("frontend");

  private final UUID self;
  private final NodeAddress address;
  private final MemberSettings settings;
  private final KnownMap known;
  private final NodeCalls calls;
  private final UUID run = UUID.randomUUID();
  private final RefusalLog refusals;

  JoinCheck(UUID self, MemberSettings settings, KnownMap known, NodeCalls calls, RefusalLog refusals) {
    this.self = self;
    this.settings = settings;
    this.known = known;
    this.calls = calls;
    this.refusals = refusals;
    address = new NodeAddress(settings.host(), settings.servicePort());
  }

  /** What this node asks. */
  Join question() {
    return new Join(self, run, address, settings.noticedWithin(), settings.downAfter(), settings.agreed(), false);
  }

  /** What this node, a member of a cluster, answers. */
  ClusterAnswer answer(Join of, UUID cluster) {
    String reason = unfit(of, cluster);
    if (reason == null) return new Fit();
    if (!of.relayed()) refusals.refused("Node %s at %s is refused: %s".formatted(of.node(), of.at(), reason));
    return new Unfit(reason);
  }

  /**
   * Why the caller is not the node in whose name it calls, or may not make this call by the role in its certificate; or null. Without this check it could
   * register another node's name with its own host, and make Raft calls in that name.
   */
  @Nullable String forged(ClusterCall call, Caller caller) {
    if (caller.isFrontend() && !isOfFrontend(call)) return "the caller's certificate is that of a frontend, which may only register and report itself";
    return switch (call) {
      case Propose(RegisterNode(var claimed)) -> forged(claimed.id(), claimed.host(), caller);
      case Report(var report, _) -> forged(report.node(), null, caller);
      case Join join when !join.relayed() -> forged(join.node(), join.at().host(), caller);
      case Hello _, Join _, Propose _, Watch _, CarryOut _, AskProgress _, FindCut _ -> null;
    };
  }

  /** Whether a frontend makes this call, which has no replicas and administers nothing. */
  private static boolean isOfFrontend(ClusterCall call) {
    return switch (call) {
      case Propose(RegisterNode(var claimed)) -> FRONTEND.containsAll(claimed.roles());
      case Hello _, Join _, Report _, Watch _, AskProgress _ -> true;
      case Propose _, CarryOut _, FindCut _ -> false;
    };
  }

  /** @param host that the node says it has, or null */
  private @Nullable String forged(UUID claimed, @Nullable String host, Caller caller) {
    for (String each : Stream.concat(known.host(claimed).stream(), Stream.ofNullable(host)).distinct().toList())
      if (!caller.belongsTo(claimed, each)) return "the caller's certificate names neither node " + claimed + " nor its host, " + each;
    return null;
  }

  private @Nullable String unfit(Join of, UUID cluster) {
    if (of.node().equals(self)) {
      return of.run().equals(run)
          ? null
          : "node %s runs at %s, and another process with its identity starts at %s, from a copy of its data directory".formatted(self, address, of.at());
    }
    if (of.relayed()) return null;
    String other = otherSetting(of, cluster);
    if (other != null) return other;
    if (of.noticedWithin().compareTo(settings.downAfter()) > 0) return times(of.noticedWithin(), of.node(), of.at(), settings.downAfter(), self, address);
    if (settings.noticedWithin().compareTo(of.downAfter()) > 0) return times(settings.noticedWithin(), self, address, of.downAfter(), of.node(), of.at());
    return twin(of, cluster);
  }

  /**
   * A setting that both have and that differs comes before one that the node does not have, since the former explains the latter. One that only the node has comes last:
   * the cluster was founded without it, and so was this node, as far as the map does not have them all yet.
   */
  private @Nullable String otherSetting(Join of, UUID cluster) {
    var founded = known.map().settings();
    return Stream.concat(founded.keySet().stream(), of.agreed().keySet().stream())
        .distinct()
        .filter(name -> founded.containsKey(name) ? !founded.get(name).equals(of.agreed().get(name)) : !settings.agreed().containsKey(name))
        .min(Comparator.comparing((String name) -> !founded.containsKey(name)).thenComparing(name -> !of.agreed().containsKey(name)).thenComparing(name -> name))
        .map(
            name ->
                "%s is %s in cluster %s, and %s on node %s at %s; it must be the same on all nodes"
                    .formatted(name, founded.getOrDefault(name, NOT_SET), cluster, of.agreed().getOrDefault(name, NOT_SET), of.node(), of.at()))
        .orElse(null);
  }

  private static String times(Duration noticed, UUID by, NodeAddress at, Duration down, UUID other, NodeAddress there) {
    return ("dunlin.cluster.lease and two heartbeats are %d ms on node %s at %s, and dunlin.cluster.down-after is %d ms on node %s at %s; the second would take the first for dead"
            + " while it serves clients")
        .formatted(noticed.toMillis(), by, at, down.toMillis(), other, there);
  }

  /** Asks where the node was until now whether a process with its identity still runs there. */
  private @Nullable String twin(Join of, UUID cluster) {
    var before = known.service(of.node());
    if (before.isEmpty() || before.get().equals(of.at()) || before.get().equals(address)) return null;
    try {
      var answer = MetaClient.exchange(calls, before.get(), new ClusterWire.Sent(cluster, of.again()), OTHER_DEADLINE);
      return answer instanceof Unfit(var reason) ? reason : null;
    } catch (IOException e) {
      return null; // nothing there any more: the node has moved
    }
  }
}
