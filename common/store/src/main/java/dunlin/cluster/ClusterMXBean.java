package dunlin.cluster;

import dunlin.runtime.metrics.Description;
import java.util.List;

/**
 * The cluster as an operator sees and changes it, from any of its nodes. Nodes, ranges and operations are named by
 * their UUID or by a unique beginning of it, of at least four characters. What cannot be done is refused with the
 * reason.
 */
@Description(
    "The cluster, as it is seen and changed from any of its nodes. A UUID may be shortened to a unique beginning of at least four characters")
public interface ClusterMXBean {
  /**
   * @param state JOINED, SUSPECT, DOWN, DRAINING or LEFT
   * @param roles what it does: the kinds of ranges that it may have replicas of, those of which it is preferred, and whether it is a frontend
   * @param disk whether it has room, as the node has said last: ENOUGH; SHORT when the rows of a replica did not fit, so it gets no replicas; LOW when it is nearly full, so
   *     it gets no leaderships either
   */
  record NodeRow(String id, String host, String region, String zone, String state, int replicas, List<String> roles, String disk) {}

  /**
   * @param keys from the first to the one behind the last, in hexadecimal
   * @param voters the nodes that have a replica, without one that is still being made
   * @param leader the node that leads it, as of the last heartbeat; empty while that is unknown
   */
  record RangeRow(String id, String kind, String keys, long epoch, List<String> voters, String leader) {}

  /**
   * How far it has come is what the leader of the meta group says; while that does not answer, the operation is shown without its steps.
   *
   * @param what the operation, with the range and the nodes that it is about
   * @param range UUID of the range that it is about; empty when it is about a node
   * @param cancelled whether it is cancelled, and the steps already done are undone
   * @param step the step that it is at, from 1; 0 while that is not known
   * @param steps how many steps it has
   * @param doing what that step does
   * @param left how much is left of the step, in the unit; -1 while that is not known, and where the step is not measured
   * @param unit entries of the log, bytes or replicas; empty where the step is not measured
   * @param seconds for how long it has been in progress, at least: counted since the leader of the meta group first saw it
   * @param waiting why it is stalled; empty when it is not
   */
  record OperationRow(
      String id, String what, String range, boolean cancelled, int step, int steps, String doing, long left, String unit, long seconds, String waiting) {}

  @Description("UUID of this node")
  String getNode();

  @Description("UUID of the cluster; empty before the node belongs to one")
  String getCluster();

  @Description("Whether the last heartbeat came to a leader of the meta group")
  boolean isConnected();

  @Description("Version of the newest map that this node has received; it rises with each change")
  long getMapVersion();

  @Description("UUIDs of other nodes that have not answered this one for half of dunlin.cluster.lease; leaderships move to nodes that reach more")
  List<String> getUnreachedNodes();

  @Description("Roles of dunlin.roles that no node of the cluster has. Without frontend no client can connect; without dist, retain or inbox nodes with the role store lead in its place")
  List<String> getMissingRoles();

  @Description("The nodes of the cluster")
  List<NodeRow> getNodes();

  @Description("The ranges of the cluster, and which nodes have their replicas")
  List<RangeRow> getRanges();

  @Description("Operations in progress, and how far each has come as the leader of the meta group says")
  List<OperationRow> getOperations();

  @Description("Gives a range one more replica. Answers with the operation's identifier")
  String addReplica(@Description("UUID of the range") String range, @Description("UUID of the node that gets it") String node);

  @Description("Moves a replica to a node that has none; the node that loses it may be dead. Answers with the operation's identifier")
  String moveReplica(
      @Description("UUID of the range") String range,
      @Description("UUID of the node that loses it") String from,
      @Description("UUID of the node that gets it") String to);

  @Description("Creates a damaged replica again on the same node. Answers with the operation's identifier")
  String replaceReplica(@Description("UUID of the range") String range, @Description("UUID of the node") String node);

  @Description("Lets a node lead a range. Answers with the operation's identifier")
  String transferLeadership(@Description("UUID of the range") String range, @Description("UUID of the node") String node);

  @Description("Splits a range into two. Answers with the operation's identifier")
  String split(
      @Description("UUID of the range") String range,
      @Description("The first key of the upper part, in hexadecimal; empty for one that the range's leader finds, with about half on each side") String cut);

  @Description("Splits a range of retained messages at a topic, or one of routes at a topic filter. Answers with the operation's identifier")
  String splitAtTopic(
      @Description("UUID of the range") String range,
      @Description("Tenant of the topic") String tenant,
      @Description("The first topic or topic filter of the upper part, or the beginning of one") String topic);

  @Description("Moves everything off a node, which stays a member. Answers with the operation's identifier")
  String drainNode(@Description("UUID of the node") String node);

  @Description("Moves everything off a node, which then leaves the cluster for good; refused when replicas would be lost. Answers with the operation's identifier")
  String leaveNode(@Description("UUID of the node") String node);

  @Description("Cancels an operation and undoes the steps already done; not possible for a split")
  void cancel(@Description("The operation's identifier") String operation);

  @Description("Removes a node that has left from the list")
  void forgetNode(@Description("UUID of the node") String node);
}
