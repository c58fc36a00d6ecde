package dunlin.store.node;

import dunlin.runtime.LogText;
import dunlin.store.disk.RatisPeers;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftConfiguration;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which callers' Raft calls are accepted, and which terms in calls and answers. One forged call would depose a
 * leader, and one term near the maximum would keep a group from ever electing another.
 *
 * <p>A caller must be a peer of the group, by the configuration that this node has, or a node of the cluster. The
 * second is needed when this node was away: the group may have other peers by now, and only they can tell this node.
 * With TLS, the caller's certificate must name the node in whose name it calls: by the host that the group or the
 * cluster knows, or by its id. It must not be that of a frontend.
 */
public final class PeerCallers implements AutoCloseable {
  /*
   * Owner: the starting thread sets the server; calls come on any thread of gRPC.
   * Bounds: no state is kept of a call. At most one line in the log per LINE_NANOS, with the number of refusals not
   * logged.
   * Failure: a peer that is not known here yet is refused, and retries within a second. So is one whose host has
   * changed, unless its certificate also names the former host or its id.
   */
  private static final Logger log = LoggerFactory.getLogger(PeerCallers.class);

  /** The most elections that a group may have had unknown to this node: 24 days of one every two seconds. */
  static final long TERM_JUMP_MAX = 1 << 20;

  private static final int GROUP_ID_BYTES = 16;
  private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final MeterRegistry meters;
  private final LongSupplier nanoTime;
  private final Counter strangers;
  private final Counter certificates;
  private final Counter terms;
  private final Counter answers;
  private final AtomicLong nextLine;
  private final AtomicLong untold = new AtomicLong();

  private volatile Function<UUID, Optional<String>> members = _ -> Optional.empty();
  private volatile @Nullable RaftServer server;

  public PeerCallers(MeterRegistry meters, LongSupplier nanoTime) {
    this.meters = meters;
    this.nanoTime = nanoTime;
    nextLine = new AtomicLong(nanoTime.getAsLong());
    strangers = refused(meters, "stranger");
    certificates = refused(meters, "certificate");
    terms = refused(meters, "term");
    answers = refused(meters, "answer-term");
  }

  private static Counter refused(MeterRegistry meters, String reason) {
    return Counter.builder("dunlin.store.peer-calls.refused")
        .description(
            "Calls to the cluster port, and answers of peers, that were refused: the caller is no peer, its certificate names another node, or no"
                + " election can have led to the term")
        .tag("reason", reason)
        .register(meters);
  }

  /** Removes the meters from the registry, once no more calls can come. */
  @Override
  public void close() {
    for (var counter : List.of(strangers, certificates, terms, answers)) meters.remove(counter);
  }

  /** Sets the nodes of the cluster and their hosts. */
  public void members(Function<UUID, Optional<String>> members) {
    this.members = members;
  }

  void serve(RaftServer server) {
    this.server = server;
  }

  /**
   * Why a call to this node must be refused, or null.
   *
   * @param term the term that this node would adopt
   * @param names of the caller's certificate; null without TLS
   */
  @Nullable String objection(RaftRpcRequestProto call, long term, @Nullable CertificateNames names, @Nullable SocketAddress from) {
    var division = division(call.getRaftGroupId().getId());
    if (division == null) return null; // Ratis itself refuses calls for unknown groups
    String why = objection(division, call.getRequestorId(), term, names);
    if (why != null && mayTell())
      log.warn(
          "Refused a call to the cluster port from {} in the name of {} for group {}: {}; {} more were refused since the last such line",
          from, LogText.quoted(call.getRequestorId().toStringUtf8()), division.getGroup().getGroupId().getUuid(), why, untold.getAndSet(0));
    return why;
  }

  private @Nullable String objection(RaftServer.Division division, ByteString caller, long term, @Nullable CertificateNames names) {
    var hosts = hosts(division.getRaftConf(), caller);
    if (hosts.isEmpty()) {
      strangers.increment();
      return "the caller is no peer of this group";
    }
    if (names != null && names.areOfFrontend()) {
      certificates.increment();
      return "the caller's certificate is that of a frontend, which has no replicas";
    }
    if (names != null && !named(names, caller, hosts)) {
      certificates.increment();
      return "the caller's certificate names neither this node nor its host, " + String.join(" or ", hosts);
    }
    long current = division.getInfo().getCurrentTerm();
    if (credible(term, current)) return null;
    terms.increment();
    return "term " + term + " is too far from " + current;
  }

  /** Whether a peer's answer may have this term. */
  boolean believes(RaftGroupId group, RaftPeerId peer, long term) {
    var division = division(group.toByteString());
    if (division == null) return false; // it has just been removed
    long current = division.getInfo().getCurrentTerm();
    if (credible(term, current)) return true;
    answers.increment();
    if (mayTell())
      log.warn(
          "Refused an answer of peer {} for group {}: term {} is too far from {}; {} more were refused since the last such line",
          peer, group.getUuid(), term, current, untold.getAndSet(0));
    return false;
  }

  private static boolean credible(long term, long current) {
    return term >= 0 && term <= current + TERM_JUMP_MAX;
  }

  private RaftServer.@Nullable Division division(ByteString group) {
    var serving = server;
    if (serving == null) return null;
    try {
      return group.size() == GROUP_ID_BYTES ? serving.getDivision(RaftGroupId.valueOf(group)) : null;
    } catch (IOException e) {
      return null;
    }
  }

  /** The known hosts of a caller; empty when it is neither a peer nor a node of the cluster. */
  private Set<String> hosts(RaftConfiguration configuration, ByteString caller) {
    var hosts = new TreeSet<String>();
    for (var peer : configuration.getAllPeers()) addHost(peer, caller, hosts);
    for (var peer : configuration.getPreviousPeers()) addHost(peer, caller, hosts);
    var node = node(caller);
    if (node != null) members.apply(node).ifPresent(hosts::add);
    return hosts;
  }

  private static void addHost(RaftPeer peer, ByteString caller, Set<String> to) {
    if (peer.getId().toByteString().equals(caller)) to.add(RatisPeers.member(peer).host());
  }

  private static boolean named(CertificateNames names, ByteString caller, Set<String> hosts) {
    var node = node(caller);
    return node != null && hosts.stream().anyMatch(host -> names.belongTo(node, host));
  }

  private static @Nullable UUID node(ByteString caller) {
    try {
      return UUID.fromString(caller.toStringUtf8());
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private boolean mayTell() {
    long now = nanoTime.getAsLong();
    long next = nextLine.get();
    if (now - next >= 0 && nextLine.compareAndSet(next, now + LINE_NANOS)) return true;
    untold.incrementAndGet();
    return false;
  }
}
