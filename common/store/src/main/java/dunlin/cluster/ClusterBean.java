package dunlin.cluster;

import dunlin.placement.ClusterMap;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.PlacementCommand.ForgetNode;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;

/** Turns what an operator types into operations of the cluster. Throws only exceptions that a JMX client can load. */
final class ClusterBean implements ClusterMXBean {
  private static final int BEGINNING_MIN = 4;

  private final Cluster cluster;

  ClusterBean(Cluster cluster) {
    this.cluster = cluster;
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
  public List<NodeRow> getNodes() {
    var map = cluster.map();
    return map.nodes().values().stream()
        .map(
            node ->
                new NodeRow(
                    node.id().toString(), node.host(), node.region(), node.zone(), node.state().name(),
                    map.rangesOn(node.id()).size(), List.copyOf(node.roles())))
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
    var waiting = cluster.waiting();
    return cluster.map().intents().values().stream()
        .map(
            intent ->
                new OperationRow(
                    intent.id().toString(), intent.operation().toString(), intent.cancelled(),
                    waiting.getOrDefault(intent.id(), "")))
        .toList();
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
    return begin(
        map -> {
          var placed = map.ranges().get(range(map, range));
          if (placed == null) throw new IllegalArgumentException("there is no range " + range);
          return SplitChoice.at(placed.range(), key(cut));
        });
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
      byte[] key = HexFormat.of().parseHex(hexadecimal == null ? "" : hexadecimal.strip());
      if (key.length > 0) return key;
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("'" + hexadecimal + "' is no key in hexadecimal: " + e.getMessage(), e);
    }
    throw new IllegalArgumentException("a cut is a key in hexadecimal, of at least one byte");
  }
}
