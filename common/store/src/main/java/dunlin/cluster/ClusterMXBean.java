package dunlin.cluster;

import java.util.List;

/**
 * The cluster as an operator sees and changes it, from any of its nodes. Nodes, ranges and operations are named by their UUID
 * or by a beginning of it that only one has, of at least four characters. What cannot be done is refused with the reason.
 */
public interface ClusterMXBean {
  /** @param state JOINED, SUSPECT, DOWN, DRAINING or LEFT */
  record NodeRow(String id, String host, String region, String zone, String state, int replicas) {}

  /**
   * @param keys from the first to the one behind the last, in hexadecimal
   * @param voters and listeners: the nodes that have a replica
   */
  record RangeRow(String id, String kind, String keys, long epoch, List<String> voters, List<String> listeners) {}

  /** @param waiting why it does not move, as far as this node knows, which is when it leads the meta group */
  record OperationRow(String id, String what, boolean cancelled, String waiting) {}

  String getNode();

  /** Empty before the node belongs to one. */
  String getCluster();

  /** Whether the last heartbeat came to a leader of the meta group. */
  boolean isConnected();

  /** How often the map has changed, as far as this node has heard. */
  long getMapVersion();

  List<NodeRow> getNodes();

  List<RangeRow> getRanges();

  /** What is under way. */
  List<OperationRow> getOperations();

  /** Gives a range one more replica. Answers with the operation's identifier; so do the others below. */
  String addReplica(String range, String node);

  /** Moves a replica to a node that has none; the node that loses it may be dead. */
  String moveReplica(String range, String from, String to);

  /** Makes a replica anew where it is, because its files are damaged. */
  String replaceReplica(String range, String node);

  /** Lets a node lead a range. */
  String transferLeadership(String range, String node);

  /** @param cut the first key of the upper part, in hexadecimal */
  String split(String range, String cut);

  /** Moves everything off a node, which stays a member. */
  String drainNode(String node);

  /** Moves everything off a node, which then has left for ever. Refused when replicas would be lost. */
  String leaveNode(String node);

  /** Has an operation undone as far as it has come; not possible for a split. */
  void cancel(String operation);

  /** Takes a node that has left off the list. */
  void forgetNode(String node);
}
