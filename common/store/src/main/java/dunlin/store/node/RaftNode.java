package dunlin.store.node;

import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.RatisPeers;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.GroupManagementRequest;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachine;
import org.apache.ratis.util.ExitUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one Raft server of a process, and the operations on it while it runs. */
public final class RaftNode {
  /*
   * Owner: the store builds, starts and closes it; calls that wait are made on any thread that may block.
   */
  private static final Logger log = LoggerFactory.getLogger(RaftNode.class);
  private static final long TLS_FILES_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final RaftServer server;
  private final PeerCallsOnly peerCalls;
  private final ClusterSettings cluster;
  private final @Nullable PeerTls tls;
  private final List<PeerDuty> duties;
  private final ClientId clientId = ClientId.randomId();
  private final AtomicLong calls = new AtomicLong();
  private final LogWorkers logWorkers = new LogWorkers();

  private final Map<RaftGroupId, CompletableFuture<RaftClientReply>> removals = new ConcurrentHashMap<>();

  private long tlsReadNanos = System.nanoTime(); // used by the maintenance thread only

  /** What is done about peers once a second; nothing without any. */
  @FunctionalInterface
  private interface PeerDuty {
    void look(long nowNanos) throws IOException;
  }

  private RaftNode(
      RaftServer server,
      PeerCallsOnly peerCalls,
      ClusterSettings cluster,
      @Nullable PeerTls tls,
      List<PeerDuty> duties) {
    this.server = server;
    this.peerCalls = peerCalls;
    this.cluster = cluster;
    this.tls = tls;
    this.duties = duties;
  }

  public static RaftNode build(
      UUID nodeId, StoreSettings settings, DataDirectory data, PeerCallers callers, MeterRegistry meters, Function<RaftGroupId, StateMachine> ranges)
      throws IOException {
    requireSafe(settings.cluster());
    requireFreePort(settings.cluster());
    ProcessExit.forbid();
    var tls =
        settings.cluster().hasPeers() && settings.cluster().security() instanceof PeerSecurity.MutualTls files
            ? new PeerTls(files)
            : null;
    var peerCalls = new PeerCallsOnly(RatisPeers.id(nodeId), callers);
    var server =
        RaftServer.newBuilder()
            .setServerId(RatisPeers.id(nodeId))
            .setStateMachineRegistry(ranges::apply)
            .setProperties(RatisSettings.of(settings, data))
            .setParameters(RatisSettings.parameters(settings, peerCalls, callers, tls))
            .setOption(RaftStorage.StartupOption.RECOVER)
            .build();
    callers.serve(server);
    List<PeerDuty> duties = settings.cluster().hasPeers() ? duties(server, settings.cluster(), meters) : List.of();
    return new RaftNode(server, peerCalls, settings.cluster(), tls, duties);
  }

  private static List<PeerDuty> duties(RaftServer server, ClusterSettings cluster, MeterRegistry meters) {
    var appends = new FailedAppends(server, cluster.electionTimeout(), meters);
    return List.of(new PeerConnections(server)::retry, new LostAnswers(server)::look, _ -> appends.look());
  }

  public RaftServer server() {
    return server;
  }

  /** Checks from time to time whether the TLS files of the cluster port have changed. */
  public void refreshTls(long nowNanos) {
    if (tls == null || nowNanos - tlsReadNanos < TLS_FILES_NANOS) return;
    tlsReadNanos = nowNanos;
    tls.refresh();
  }

  /**
   * Tries to connect to peers that cannot be reached, replaces connections that carry nothing, sends entries again whose answers were lost, and forgets appends
   * that have failed; called once a second.
   */
  public void reconnect(long nowNanos) {
    for (PeerDuty duty : duties) {
      try {
        duty.look(nowNanos);
      } catch (IOException | RuntimeException e) { // a group, or the server, is being closed
        log.debug("Peers are not tried again this time", e);
      }
    }
  }

  /**
   * Starts the server; it must be closed after a failure, too.
   *
   * @throws StoreException when the cluster port was taken since it was found free
   */
  public void start() throws IOException {
    try {
      server.start();
    } catch (ExitUtils.ExitException e) {
      throw unusable(cluster, e);
    }
  }

  public Set<RaftGroupId> groups() {
    var groups = new HashSet<RaftGroupId>();
    server.getGroupIds().forEach(groups::add);
    return groups;
  }

  RaftServer.Division division(RaftGroupId group) throws IOException {
    return server.getDivision(group);
  }

  /** Starts serving a group whose directory exists. So a restart in between starts it as well. */
  public void add(RaftGroup group, Duration deadline) {
    var id = group.getGroupId();
    peerCalls.starting(id);
    var adding =
        server
            .groupManagementAsync(GroupManagementRequest.newAdd(clientId, server.getId(), calls.incrementAndGet(), group, false))
            .whenComplete((_, _) -> peerCalls.started(id));
    await(adding, "serve group " + id.getUuid(), deadline);
  }

  /** Has a group answer no calls of its peers, as if this node could not be reached, or has it answer them again. */
  public void mute(RaftGroupId group, boolean mute) {
    peerCalls.mute(group, mute);
  }

  /** Stops serving a group and deletes its directory. May be called again after a timeout, and then waits for the same removal. */
  public void remove(RaftGroupId group, Duration deadline) {
    var under = removals.get(group);
    if (under == null) {
      if (!groups().contains(group)) return;
      under = begin(group);
    }
    await(under, "remove group " + group.getUuid(), deadline);
  }

  /** Runs on a thread of its own: Ratis closes the group on the calling thread, for as long as that takes. */
  private CompletableFuture<RaftClientReply> begin(RaftGroupId group) {
    var removal =
        CompletableFuture.supplyAsync(
                () -> closeAndDelete(group),
                task -> Thread.ofPlatform().daemon().name("dunlin-remove-" + group.getUuid()).start(task))
            .thenCompose(reply -> reply);
    removals.put(group, removal);
    var _ = removal.whenComplete((_, _) -> removals.remove(group, removal));
    return removal;
  }

  private CompletableFuture<RaftClientReply> closeAndDelete(RaftGroupId group) {
    var request = GroupManagementRequest.newRemove(clientId, server.getId(), calls.incrementAndGet(), group, true, false);
    try (var _ = logWorkers.closing(logs(Set.of(group)))) {
      return server.groupManagementAsync(request);
    }
  }

  public void close() throws IOException {
    try (var _ = logWorkers.closing(logs(groups()))) {
      server.close();
    }
  }

  /** The logs of those groups that have begun to be served. */
  private List<RaftLog> logs(Set<RaftGroupId> groups) {
    var logs = new ArrayList<RaftLog>();
    for (var group : groups) {
      try {
        logs.add(server.getDivision(group).getRaftLog());
      } catch (IOException | IllegalStateException e) { // it was not started, or has ended by itself
        log.debug("The log of {} is not open", group, e);
      }
    }
    return logs;
  }

  /** Waits for Ratis' answer, and turns its refusal into a StoreException. */
  public static RaftClientReply await(CompletableFuture<RaftClientReply> asked, String what, Duration deadline) {
    try {
      var reply = asked.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
      var refusal = reply.getException();
      if (refusal != null) throw new StoreException("cannot " + what + ": " + refusal.getMessage(), refusal);
      if (!reply.isSuccess()) throw new StoreException("cannot " + what + ": refused without a reason");
      return reply;
    } catch (ExecutionException e) {
      Throwable root = e;
      while (root.getCause() != null) root = root.getCause();
      throw new StoreException("cannot " + what + ": " + root.getMessage(), root);
    } catch (TimeoutException e) {
      throw new StoreException("cannot " + what + " within " + deadline, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted, cannot " + what, e);
    }
  }

  /** Refuses a port that is open to any host, unless the settings allow it. */
  private static void requireSafe(ClusterSettings cluster) {
    if (!cluster.hasPeers()) return;
    boolean open =
        switch (cluster.security()) {
          case PeerSecurity.MutualTls _ -> false;
          case PeerSecurity.Plaintext(boolean beyondLoopback) -> !beyondLoopback;
        };
    if (open && !loopback(cluster.bindAddress()))
      throw new StoreException(
          "the cluster port would be open without TLS on " + cluster.bindAddress()
              + ": anyone who reaches it could take over the ranges. Set dunlin.cluster.tls.*, or dunlin.cluster.plaintext"
              + " where no one else can reach it");
  }

  private static boolean loopback(String address) {
    try {
      for (var one : InetAddress.getAllByName(address)) if (!one.isLoopbackAddress()) return false;
      return true;
    } catch (UnknownHostException e) {
      throw new StoreException("the address " + address + " for the cluster port is unknown", e);
    }
  }

  /** Checks that the port is free, before Ratis has started its threads. */
  private static void requireFreePort(ClusterSettings cluster) {
    if (!cluster.hasPeers()) return;
    try (var socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getByName(cluster.bindAddress()), cluster.port()));
    } catch (IOException e) {
      throw unusable(cluster, e);
    }
  }

  private static StoreException unusable(ClusterSettings cluster, Exception e) {
    Throwable root = e;
    while (root.getCause() != null) root = root.getCause();
    return new StoreException("cluster port " + cluster.port() + " cannot be used: " + root.getMessage(), e);
  }
}
