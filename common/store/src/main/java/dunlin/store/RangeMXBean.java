package dunlin.store;

import java.util.Map;

/** What operators see of this node's replica of one range and do to it by JMX: {@code dunlin:type=Range,node=<id>,range=<name>}. */
public interface RangeMXBean {
  /** leader, follower, candidate, listener, outside, quarantined or stopped. */
  String getRole();

  /** The id of the node that leads the range, as far as this one knows; else empty. */
  String getLeader();

  /** Raft's current term. */
  long getTerm();

  /** The last entry of the log that a majority has. */
  long getCommittedIndex();

  /** The last entry that readers see. */
  long getAppliedIndex();

  /** Committed entries that readers here do not see yet. */
  long getApplyLag();

  /** Entries that each peer is behind its leader here, by node; -1 where that is unknown, as it is on who does not lead. */
  Map<String, Long> getPeerLags();

  /** Bytes of the log's files. */
  long getLogBytes();

  /** Commands that wait for the log. */
  int getQueued();

  /** From a command's proposal until it is durable, applied and readable: the mean since the start, in milliseconds. */
  double getCommitMillis();

  /** The longest of the last minutes. */
  double getCommitMillisMax();

  /**
   * On the leader: lets the voter with this node id lead from now on. Waits until it does, for at most half a minute.
   *
   * @throws IllegalStateException saying why it does not
   */
  void transferLeadership(String node);

  /** On the leader: takes the replica of the node with this id out of the range, such as one that is gone for good. */
  void removePeer(String node);
}
