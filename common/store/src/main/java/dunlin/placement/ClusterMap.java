package dunlin.placement;

import dunlin.store.RangeDescriptor;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Everything that the meta group knows, as of one version.
 *
 * @param founded the cluster's identity, or null before it has been founded
 */
public record ClusterMap(
    long version,
    @Nullable UUID founded,
    NavigableMap<UUID, ClusterNode> nodes,
    NavigableMap<UUID, PlacedRange> ranges,
    NavigableMap<UUID, Intent> intents,
    NavigableMap<String, String> settings) {

  /** One row that has changed. */
  public sealed interface Change {
    record Founded(UUID cluster) implements Change {}

    record NodeIs(ClusterNode node) implements Change {}

    record NodeGone(UUID node) implements Change {}

    record RangeIs(PlacedRange range) implements Change {}

    record IntentIs(Intent intent) implements Change {}

    record IntentGone(UUID intent) implements Change {}

    record SettingIs(String name, String value) implements Change {}

    record SettingGone(String name) implements Change {}
  }

  /** What a watcher gets that knows an earlier version of the map. */
  public sealed interface Update {
    /** In the order in which they came about; empty when the watcher knows the newest version. */
    record Changes(long version, List<Change> changes) implements Update {}

    /** The watcher's version is older than the history. */
    record Whole(ClusterMap map) implements Update {}
  }

  /** The map of a cluster of which nothing is known. */
  public static ClusterMap empty() {
    return new ClusterMap(0, null, new TreeMap<>(), new TreeMap<>(), new TreeMap<>(), new TreeMap<>()).copy();
  }

  public Optional<UUID> cluster() {
    return Optional.ofNullable(founded);
  }

  /** This map with an update applied. */
  public ClusterMap with(Update update) {
    return switch (update) {
      case Update.Whole(var map) -> map;
      case Update.Changes(var to, var changes) -> {
        var next = new ClusterMap(
            to, founded, new TreeMap<>(nodes), new TreeMap<>(ranges), new TreeMap<>(intents), new TreeMap<>(settings));
        UUID cluster = founded;
        for (var change : changes) {
          if (change instanceof Change.Founded(var id)) cluster = id;
          else next.put(change);
        }
        yield new ClusterMap(to, cluster, next.nodes, next.ranges, next.intents, next.settings).copy();
      }
    };
  }

  /** Applies a change; only for a map whose rows are mutable. */
  void put(Change change) {
    switch (change) {
      case Change.Founded _ -> {}
      case Change.NodeIs(var node) -> nodes.put(node.id(), node);
      case Change.NodeGone(var node) -> nodes.remove(node);
      case Change.RangeIs(var placed) -> ranges.put(placed.range().id(), placed);
      case Change.IntentIs(var intent) -> intents.put(intent.id(), intent);
      case Change.IntentGone(var intent) -> intents.remove(intent);
      case Change.SettingIs(var name, var value) -> settings.put(name, value);
      case Change.SettingGone(var name) -> settings.remove(name);
    }
  }

  /** An unmodifiable copy. */
  ClusterMap copy() {
    return new ClusterMap(version, founded, fixed(nodes), fixed(ranges), fixed(intents), fixed(settings));
  }

  private static <K extends Comparable<K>, V> NavigableMap<K, V> fixed(NavigableMap<K, V> rows) {
    return Collections.unmodifiableNavigableMap(new TreeMap<>(rows));
  }

  /** The operation that is about a range. */
  public Optional<Intent> intentOn(UUID range) {
    return intents.values().stream()
        .filter(intent -> intent.operation().range().filter(range::equals).isPresent())
        .findFirst();
  }

  /** The operation that empties a node. */
  public Optional<Intent> emptying(UUID node) {
    return intents.values().stream()
        .filter(intent -> intent.operation().emptied().filter(node::equals).isPresent())
        .findFirst();
  }

  /** Whether the cluster treats a node as available. */
  public boolean up(UUID node) {
    var known = nodes.get(node);
    return known != null && known.state().up();
  }

  /** Whether a node may be given a replica of a range of this kind. */
  public boolean takes(UUID node, String kind) {
    var known = nodes.get(node);
    return known != null && known.state() == ClusterNode.State.JOINED && known.holds(kind) && emptying(node).isEmpty();
  }

  /** What a node has said last about its disk. */
  public ClusterNode.Disk disk(UUID node) {
    var known = nodes.get(node);
    return known == null ? ClusterNode.Disk.ENOUGH : known.disk();
  }

  /** How many nodes could have a replica of this kind, once all that stay are up. */
  public long places(String kind) {
    return nodes.values().stream()
        .filter(node -> node.holds(kind) && emptying(node.id()).isEmpty())
        .filter(node -> node.state() != ClusterNode.State.LEFT && node.state() != ClusterNode.State.DRAINING)
        .count();
  }

  /** Whether more than half of these voters are up. */
  public boolean quorum(List<UUID> voters) {
    return voters.stream().filter(this::up).count() > voters.size() / 2;
  }

  /** The ranges that have a replica on a node. */
  public List<RangeDescriptor> rangesOn(UUID node) {
    return ranges.values().stream().map(PlacedRange::range).filter(range -> range.has(node)).toList();
  }

  /** The ranges of a kind, whose keys are disjoint. */
  public List<RangeDescriptor> rangesOf(String kind) {
    return ranges.values().stream().map(PlacedRange::range).filter(range -> range.kind().equals(kind)).toList();
  }

  /** The range of this kind that holds a key. */
  public Optional<RangeDescriptor> find(String kind, byte[] key) {
    return rangesOf(kind).stream().filter(range -> range.keys().contains(key)).findFirst();
  }
}
