package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.Fit;
import dunlin.cluster.call.ClusterAnswer.HelloIs;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterAnswer.Unfit;
import dunlin.cluster.call.ClusterAnswer.Unknown;
import dunlin.cluster.call.ClusterCall;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.cluster.call.Seeds;
import dunlin.placement.BootstrapRule;
import dunlin.placement.BootstrapRule.Decision;
import dunlin.store.StoreException;
import java.io.IOException;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the seeds for their identities until it is clear which cluster this node belongs to; {@link BootstrapRule} decides. */
final class Bootstrap {
  /*
   * Owner: the thread that starts the cluster.
   * Failure: what was decided is on disk before any node learns of it. A founder that crashes founds the same cluster again.
   */
  private static final Logger log = LoggerFactory.getLogger(Bootstrap.class);
  private static final Duration HELLO_DEADLINE = Duration.ofSeconds(2);
  private static final long AGAIN_NANOS = 300_000_000;

  private final UUID self;
  private final MemberSettings settings;
  private final Seeds seeds;
  private final NodeCalls calls;
  private final Path directory;
  private final ClusterCall.Join joining;
  private final BooleanSupplier closed;

  /** @param joining asks whether this node fits into its cluster */
  Bootstrap(
      UUID self, MemberSettings settings, Seeds seeds, NodeCalls calls, Path directory, ClusterCall.Join joining, BooleanSupplier closed) {
    this.joining = joining;
    this.self = self;
    this.settings = settings;
    this.seeds = seeds;
    this.calls = calls;
    this.directory = directory;
    this.closed = closed;
  }

  /** @param own what the data directory says, or null */
  ClusterIdentity decide(@Nullable ClusterIdentity own, long untilNanos) {
    String told = "";
    while (true) {
      String why;
      try {
        UUID before = own == null ? null : own.cluster();
        var answers = askAll(seed -> ask(seed, before));
        switch (BootstrapRule.decide(self, before, settings.bootstrapExpect(), answers)) {
          case Decision.Join(var cluster, _) -> {
            boolean fits = fits(cluster);
            if (own != null) return own; // perhaps the whole cluster is starting, and no node can answer yet
            if (fits) return written(new ClusterIdentity(cluster, false));
            why = "the seeds of cluster " + cluster + " cannot answer yet";
          }
          case Decision.Found(var nodes) -> {
            log.info("Node {} founds a cluster; all of its seeds are empty: {}", self, nodes);
            return written(new ClusterIdentity(UUID.randomUUID(), true));
          }
          case Decision.Refuse(var sentence) -> throw new StoreException(sentence);
          case Decision.Wait(var reason) -> why = reason;
        }
      } catch (UnknownHostException e) {
        if (own != null) return own; // it knows the other nodes from before
        why = "the name of a seed is unknown: " + e.getMessage();
      }
      if (!why.equals(told)) log.info("Node {} belongs to no cluster yet: {}", self, why);
      told = why;
      if (closed.getAsBoolean()) throw new StoreException("closed before the node belonged to a cluster");
      if (System.nanoTime() - untilNanos > 0) throw new StoreException("no cluster in time: " + why);
      LockSupport.parkNanos(this, AGAIN_NANOS);
      if (Thread.interrupted()) {
        Thread.currentThread().interrupt();
        throw new StoreException("interrupted before the node belonged to a cluster");
      }
    }
  }

  private ClusterIdentity written(ClusterIdentity decided) {
    decided.write(directory);
    return decided;
  }

  /**
   * Whether a member of the cluster among the seeds has found that this node fits.
   *
   * @throws StoreException when one has found that it does not
   */
  private boolean fits(UUID cluster) throws UnknownHostException {
    boolean fits = false;
    for (var answer : askAll(seed -> exchanged(seed, new ClusterWire.Sent(cluster, joining)))) {
      if (answer instanceof Unfit(var sentence)) throw new StoreException(sentence);
      fits |= answer instanceof Fit;
    }
    return fits;
  }

  private ClusterAnswer exchanged(NodeAddress seed, ClusterWire.Sent sent) {
    try {
      return MetaClient.exchange(calls, seed, sent, HELLO_DEADLINE);
    } catch (IOException e) {
      return new Unknown(String.valueOf(e.getMessage()));
    }
  }

  private <T> List<T> askAll(Function<NodeAddress, T> question) throws UnknownHostException {
    var asked = new ArrayList<CompletableFuture<T>>();
    for (var seed : seeds.resolve())
      asked.add(CompletableFuture.supplyAsync(() -> question.apply(seed), task -> Thread.ofVirtual().name("dunlin-hello").start(task)));
    return asked.stream().map(CompletableFuture::join).toList();
  }

  /** @param before the cluster that this node belongs to, so that a seed of another one logs it, too */
  private BootstrapRule.Hello ask(NodeAddress seed, @Nullable UUID before) {
    String name = seed.toString();
    return switch (exchanged(seed, new ClusterWire.Sent(before, new ClusterCall.Hello()))) {
      case HelloIs(var node, var cluster) ->
          cluster == null ? new BootstrapRule.Hello.Empty(name, node) : new BootstrapRule.Hello.Member(name, node, cluster);
      case Refused(var sentence) -> new BootstrapRule.Hello.Unreachable(name, sentence);
      case Unknown(var sentence) -> new BootstrapRule.Hello.Unreachable(name, sentence);
      case ClusterAnswer other -> new BootstrapRule.Hello.Unreachable(name, "it answers " + other);
    };
  }
}
