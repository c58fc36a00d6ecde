package dunlin.store.node;

import dunlin.runtime.LogText;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftConfiguration;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whose Raft calls are heard, and with which terms. One forged call of somebody else would depose a leader, and one term near the end of all
 * numbers would keep a group from ever electing another.
 *
 * <p>A peer of the group is heard, by the configuration that this node has; and a node that the cluster says belongs to it. The
 * second is for who was away: the group may have other peers by now, and only one of them can tell this node so.
 */
public final class PeerCallers implements AutoCloseable {
  /*
   * Owner: the starting thread says which server it is; calls come on any thread of gRPC.
   * Bounds: nothing is kept of a call. One line in LINE_NANOS, with the number of those that were not told.
   * Failure: a peer that is not known here yet is refused, and tries again within a second.
   */
  private static final Logger log = LoggerFactory.getLogger(PeerCallers.class);

  /** Elections that a group may have had without this node hearing of one: 24 days of one every two seconds. */
  static final long TERM_JUMP_MAX = 1 << 20;

  private static final int GROUP_ID_BYTES = 16;
  private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final MeterRegistry meters;
  private final LongSupplier nanoTime;
  private final Counter strangers;
  private final Counter terms;
  private final AtomicLong nextLine;
  private final AtomicLong untold = new AtomicLong();

  private volatile Predicate<UUID> members = _ -> false;
  private volatile @Nullable RaftServer server;

  public PeerCallers(MeterRegistry meters, LongSupplier nanoTime) {
    this.meters = meters;
    this.nanoTime = nanoTime;
    nextLine = new AtomicLong(nanoTime.getAsLong());
    strangers = refused(meters, "stranger");
    terms = refused(meters, "term");
  }

  private static Counter refused(MeterRegistry meters, String reason) {
    return Counter.builder("dunlin.store.peer-calls.refused")
        .description("Calls to the cluster port that were refused: of no peer, or with a term that no election can have led to")
        .tag("reason", reason)
        .register(meters);
  }

  /** Takes the meters out of the registry, when no call can come any more. */
  @Override
  public void close() {
    meters.remove(strangers);
    meters.remove(terms);
  }

  /** Which nodes belong to the cluster. */
  public void members(Predicate<UUID> members) {
    this.members = members;
  }

  void serve(RaftServer server) {
    this.server = server;
  }

  /**
   * Why a call that is meant for this node must not be heard, or null when it may.
   *
   * @param term that it would make this node's own
   */
  @Nullable String objection(RaftRpcRequestProto call, long term, @Nullable SocketAddress from) {
    var division = division(call);
    if (division == null) return null; // Ratis answers for groups that are not here
    String why = null;
    if (!isPeer(division.getRaftConf(), call.getRequestorId()) && !isMember(call.getRequestorId())) {
      strangers.increment();
      why = "the caller is no peer of this group";
    } else {
      long current = division.getInfo().getCurrentTerm();
      if (term < 0 || term > current + TERM_JUMP_MAX) {
        terms.increment();
        why = "term " + term + " is too far from " + current;
      }
    }
    if (why != null) tell(call, why, from);
    return why;
  }

  private RaftServer.@Nullable Division division(RaftRpcRequestProto call) {
    var serving = server;
    if (serving == null) return null;
    ByteString group = call.getRaftGroupId().getId();
    try {
      return group.size() == GROUP_ID_BYTES ? serving.getDivision(RaftGroupId.valueOf(group)) : null;
    } catch (IOException e) {
      return null;
    }
  }

  private static boolean isPeer(RaftConfiguration configuration, ByteString node) {
    for (var role : new RaftPeerRole[] {RaftPeerRole.FOLLOWER, RaftPeerRole.LISTENER}) {
      for (var peer : configuration.getAllPeers(role)) if (peer.getId().toByteString().equals(node)) return true;
      for (var peer : configuration.getPreviousPeers(role)) if (peer.getId().toByteString().equals(node)) return true;
    }
    return false;
  }

  private boolean isMember(ByteString node) {
    try {
      return members.test(UUID.fromString(node.toStringUtf8()));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private void tell(RaftRpcRequestProto call, String why, @Nullable SocketAddress from) {
    long now = nanoTime.getAsLong();
    long next = nextLine.get();
    if (now - next < 0 || !nextLine.compareAndSet(next, now + LINE_NANOS)) {
      untold.incrementAndGet();
      return;
    }
    log.warn(
        "Refused a call to the cluster port from {} in the name of {} for group {}: {}; {} more were refused since the last such line",
        from, LogText.quoted(call.getRequestorId().toStringUtf8()), RaftGroupId.valueOf(call.getRaftGroupId().getId()).getUuid(), why,
        untold.getAndSet(0));
  }
}
