package dunlin.cluster;

import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.Intent;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.PlacementCommand.ForgetNode;
import dunlin.placement.Progress;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import java.util.Collection;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;

/** Turns what an operator types into operations of the cluster. Throws only exceptions that a JMX client can load. */
final class ClusterBean implements ClusterMXBean {
  private static final int BEGINNING_MIN = 4;

  private final Cluster cluster;
  private final Map<String, BiFunction<String, String, byte[]>> keys;
  private final Function<ClusterMap, List<String>> missingRoles;

  /**
   * @param keys for each kind of ranges with keys that stand for topics, the key of a tenant and a topic or topic filter
   * @param missingRoles the roles that no node of a map has
   */
  ClusterBean(Cluster cluster, Map<String, BiFunction<String, String, byte[]>> keys, Function<ClusterMap, List<String>> missingRoles) {
    this.cluster = cluster;
    this.missingRoles = missingRoles;
    this.keys = Map.copyOf(keys);
  }

  @Override
  public String getNode() {
    return cluster.self().toString();
  }

  @Override
  public String getCluster() {
    return cluster.cluster().map(UUID::toString).orElse("");
  }

  @Override
  public boolean isConnected() {
    return cluster.connected();
  }

  @Override
  public long getMapVersion() {
    return cluster.map().version();
  }

  @Override
  public List<String> getUnreachedNodes() {
    return cluster.unreached().stream().map(UUID::toString).toList();
  }

  @Override
  public List<String> getMissingRoles() {
    return missingRoles.apply(cluster.map());
  }

  @Override
  public List<NodeRow> getNodes() {
    var map = cluster.map();
    return map.nodes().values().stream()
        .map(
            node ->
                new NodeRow(
                    node.id().toString(), node.host(), node.region(), node.zone(), node.state().name(),
                    map.rangesOn(node.id()).size(), List.copyOf(node.with(Disk.ENOUGH).roles()), node.disk().name()))
        .toList();
  }

  @Override
  public List<RangeRow> getRanges() {
    return cluster.map().ranges().values().stream().map(placed -> row(placed.range(), cluster.leader(placed.range().id()))).toList();
  }

  private static RangeRow row(RangeDescriptor range, Optional<UUID> leader) {
    return new RangeRow(
        range.id().toString(),
        range.kind(),
        range.keys().toString(),
        range.epoch(),
        range.peers().stream().map(UUID::toString).toList(),
        leader.map(UUID::toString).orElse(""));
  }

  @Override
  public List<OperationRow> getOperations() {
    var progress = cluster.questions().map(MetaClient::progress).orElseGet(Collections::emptyNavigableMap);
    return cluster.map().intents().values().stream().map(intent -> row(intent, progress.getOrDefault(intent.id(), Progress.UNKNOWN))).toList();
  }

  private static OperationRow row(Intent intent, Progress progress) {
    return new OperationRow(
        intent.id().toString(),
        intent.operation().toString(),
        intent.operation().range().map(UUID::toString).orElse(""),
        intent.cancelled(),
        progress.step(),
        progress.steps(),
        progress.doing(),
        progress.left(),
        progress.unit(),
        progress.age().toSeconds(),
        progress.waiting());
  }

  @Override
  public String addReplica(String range, String node) {
    return begin(map -> new AddReplica(range(map, range), node(map, node)));
  }

  @Override
  public String moveReplica(String range, String from, String to) {
    return begin(map -> new MoveReplica(range(map, range), node(map, from), node(map, to)));
  }

  @Override
  public String replaceReplica(String range, String node) {
    return begin(map -> new ReplaceReplica(range(map, range), node(map, node)));
  }

  @Override
  public String transferLeadership(String range, String node) {
    return begin(map -> new TransferLeadership(range(map, range), node(map, node)));
  }

  @Override
  public String split(String range, String cut) {
    return split(range, placed -> cut == null || cut.isBlank() ? found(placed) : key(cut.strip()));
  }

  @Override
  public String splitAtTopic(String range, String tenant, String topic) {
    return split(
        range,
        placed -> {
          var key = keys.get(placed.kind());
          if (key == null) throw new IllegalArgumentException("the keys of ranges of kind '" + placed.kind() + "' stand for no topics");
          if (topic == null || topic.isEmpty()) throw new IllegalArgumentException("a cut is a topic or topic filter, or the beginning of one");
          if (topic.indexOf('\0') >= 0) throw new IllegalArgumentException("a topic has no U+0000");
          return key.apply(tenant, topic);
        });
  }

  private String split(String range, Function<RangeDescriptor, byte[]> cut) {
    return begin(
        map -> {
          var placed = map.ranges().get(range(map, range));
          if (placed == null) throw new IllegalArgumentException("there is no range " + range);
          return SplitChoice.at(placed.range(), cut.apply(placed.range()));
        });
  }

  private byte[] found(RangeDescriptor range) {
    var leader = cluster.leader(range.id()).orElseThrow(() -> new IllegalStateException("it is not known which node leads range " + range.id()));
    return refusable(() -> cluster.questions().orElseThrow().cut(range.id(), leader));
  }

  @Override
  public String drainNode(String node) {
    return begin(map -> new DrainNode(node(map, node)));
  }

  @Override
  public String leaveNode(String node) {
    return begin(map -> new LeaveNode(node(map, node)));
  }

  @Override
  public void cancel(String operation) {
    var id = named("operation", operation, cluster.map().intents().keySet());
    var _ =
        refusable(
            () -> {
              cluster.cancel(id);
              return id;
            });
  }

  @Override
  public void forgetNode(String node) {
    var id = node(cluster.map(), node);
    var _ =
        refusable(
            () -> {
              cluster.propose("forget node " + id, new ForgetNode(id));
              return id;
            });
  }

  private interface Wanted {
    Operation in(ClusterMap map);
  }

  private String begin(Wanted wanted) {
    var operation = wanted.in(cluster.map());
    return refusable(() -> cluster.begin(operation)).toString();
  }

  private static <T> T refusable(Supplier<T> change) {
    try {
      return change.get();
    } catch (StoreException e) {
      throw new IllegalStateException(e.getMessage()); // the cause is of a class that a JMX client does not have
    }
  }

  private static UUID node(ClusterMap map, String text) {
    return named("node", text, map.nodes().keySet());
  }

  private static UUID range(ClusterMap map, String text) {
    return named("range", text, map.ranges().keySet());
  }

  private static UUID named(String what, String text, Collection<UUID> known) {
    String beginning = text == null ? "" : text.strip().toLowerCase(Locale.ROOT);
    if (!beginning.matches("[0-9a-f-]{" + BEGINNING_MIN + ",36}"))
      throw new IllegalArgumentException(
          "'" + text + "' names no " + what + ": a UUID does, or at least " + BEGINNING_MIN + " characters of its beginning");
    var found = known.stream().filter(id -> id.toString().startsWith(beginning)).toList();
    if (found.isEmpty()) throw new IllegalArgumentException("there is no " + what + " " + text);
    if (found.size() > 1) throw new IllegalArgumentException("'" + text + "' is the beginning of several: " + found);
    return found.getFirst();
  }

  private static byte[] key(String hexadecimal) {
    try {
      return HexFormat.of().parseHex(hexadecimal);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("'" + hexadecimal + "' is no key in hexadecimal: " + e.getMessage(), e);
    }
  }
}
