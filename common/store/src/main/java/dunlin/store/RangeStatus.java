package dunlin.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The status of one replica of a range.
 *
 * @param leaderOrNull the leader's node, as far as this replica knows
 * @param term Raft's current term
 * @param committed the last entry that a majority has, as far as this replica knows
 * @param applied the last entry that readers see
 * @param behind entries that the leader has committed and readers here do not see yet, as the leader has last said; -1 while
 *     there is no leader, or it has said nothing yet
 * @param flushed the last entry whose rows survive a crash without the log
 * @param logBytes the log's files, as of the last second
 * @param queued commands that wait for the log
 * @param peers the range's voters by its configuration; a node that is being added is not among them yet
 * @param configuration index of the entry that the peers are from; -1 while they are being changed or it is not committed
 */
public record RangeStatus(
    RangeId range,
    ReplicaRole role,
    @Nullable UUID leaderOrNull,
    long term,
    long committed,
    long applied,
    long behind,
    long flushed,
    long logBytes,
    int queued,
    List<Peer> peers,
    long configuration) {

  /**
   * One peer, as the leader sees it; lag and silence are unknown on other replicas.
   *
   * @param lag entries of the leader's log that the peer has not acknowledged, or -1
   * @param silenceOrNull since when the peer has not answered the leader
   */
  public record Peer(Member member, int priority, long lag, @Nullable Duration silenceOrNull) {
    /** For how long the peer has not answered; empty for this node itself and on replicas that do not lead. */
    public Optional<Duration> silence() {
      return Optional.ofNullable(silenceOrNull);
    }
  }

  public RangeStatus {
    peers = List.copyOf(peers);
  }

  public Optional<UUID> leader() {
    return Optional.ofNullable(leaderOrNull);
  }

  public Optional<Peer> peer(UUID node) {
    return peers.stream().filter(peer -> peer.member().node().equals(node)).findFirst();
  }

  /** Committed entries that readers here do not see yet. */
  public long applyLag() {
    return Math.max(0, committed - applied);
  }

  /** The largest lag of any peer; 0 on replicas that do not lead. */
  public long largestLag() {
    return peers.stream().mapToLong(Peer::lag).max().stream().map(lag -> Math.max(0, lag)).findFirst().orElse(0);
  }
}
