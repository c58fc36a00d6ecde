package dunlin.store.raft;

import dunlin.runtime.metrics.Description;
import java.util.Map;

/** What operators see of this node's replica of one range and do to it by JMX: {@code dunlin:type=Range,node=<id>,range=<name>}. */
@Description("This node's replica of one range of the store")
public interface RangeMXBean {
  @Description("leader, follower, candidate, listener, outside, quarantined or stopped")
  String getRole();

  @Description("The id of the node that leads the range, as far as this one knows; else empty")
  String getLeader();

  @Description("Raft's current term")
  long getTerm();

  @Description("The last entry of the log that a majority has")
  long getCommittedIndex();

  @Description("The last entry that readers see")
  long getAppliedIndex();

  @Description("Committed entries that readers here do not see yet")
  long getApplyLag();

  @Description("Entries that each peer is behind its leader here, by node; -1 where that is unknown, as it is on who does not lead")
  Map<String, Long> getPeerLags();

  @Description("Bytes of the log's files")
  long getLogBytes();

  @Description("Commands that wait for the log")
  int getQueued();

  @Description("From a command's proposal until it is durable, applied and readable: the mean since the start, in milliseconds")
  double getCommitMillis();

  @Description("The longest of the last minutes")
  double getCommitMillisMax();

  /** @throws IllegalStateException saying why the node does not lead */
  @Description("On the leader: lets another voter lead from now on. Waits until it does, for at most half a minute")
  void transferLeadership(@Description("The id of the node that is to lead") String node);

  @Description("On the leader: takes the replica of a node out of the range, such as one that is gone for good")
  void removePeer(@Description("The id of the node") String node);
}
