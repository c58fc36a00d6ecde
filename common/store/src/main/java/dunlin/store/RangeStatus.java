package dunlin.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * How one replica of a range is doing.
 *
 * @param leaderOrNull the node that leads the range, as far as this one knows
 * @param term Raft's current term
 * @param committed the last entry that a majority has, as far as this replica knows
 * @param applied the last entry that readers see
 * @param flushed the last entry whose rows survive a crash without the log
 * @param logBytes the log's files, as of the last second
 * @param queued commands that wait for the log
 * @param peers everyone in the range's configuration, this node too
 */
public record RangeStatus(
    RangeId range,
    ReplicaRole role,
    @Nullable UUID leaderOrNull,
    long term,
    long committed,
    long applied,
    long flushed,
    long logBytes,
    int queued,
    List<Peer> peers) {

  /**
   * One peer, as the leader sees it; on other replicas lag and silence are unknown.
   *
   * @param lag entries of the leader's log that the peer is not known to have, or -1
   * @param silenceOrNull since when the peer has not answered the leader
   */
  public record Peer(Member member, boolean votes, int priority, long lag, @Nullable Duration silenceOrNull) {
    /** How long the peer has not answered; unknown for this node itself and for who does not lead. */
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

  /** The furthest that any peer is behind, 0 for who does not lead. */
  public long largestLag() {
    return peers.stream().mapToLong(Peer::lag).max().stream().map(lag -> Math.max(0, lag)).findFirst().orElse(0);
  }
}
