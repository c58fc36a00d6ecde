package dunlin.store.raft;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.Map;

/** The JMX view and operations of this node's replica of one range: {@code dunlin:type=Range,node=<id>,range=<name>}. */
@Description("This node's replica of one range of the store")
public interface RangeMXBean {
  @Description("leader, follower, candidate, outside, quarantined or stopped")
  String getRole();

  @Description("The id of the range's leader, as far as this node knows; otherwise empty")
  String getLeader();

  @Description("The current Raft term")
  long getTerm();

  @Description("The last committed log entry")
  long getCommittedIndex();

  @Description("The last log entry that was applied")
  long getAppliedIndex();

  @Description("Committed entries that are not applied yet")
  @Unit("entries")
  long getApplyLag();

  @Description("On the leader: entries that each peer is behind, by node; -1 where unknown, as on other replicas")
  Map<String, Long> getPeerLags();

  @Description("Size of the log on disk")
  @Unit("bytes")
  long getLogBytes();

  @Description("How long the oldest command in the log has waited to be applied; 0 without any, as on replicas that do not lead")
  @Unit("milliseconds")
  long getOldestMillis();

  @Description("Commands that wait to be appended to the log")
  @Unit("commands")
  int getQueued();

  @Description("Time from a command's proposal until it is durable, applied and readable: the mean since the start")
  @Unit("milliseconds")
  double getCommitMillis();

  @Description("The longest time from a proposal to its result in the last few minutes")
  @Unit("milliseconds")
  double getCommitMillisMax();

  /** @throws IllegalStateException with the reason why the node does not lead */
  @Description("On the leader: transfers the leadership to another voter. Waits until it leads, for at most half a minute")
  void transferLeadership(@Description("The id of the node that is to lead") String node);

  @Description("On the leader: removes the replica of a node from the range, such as one that is gone for good")
  void removePeer(@Description("The id of the node") String node);
}
