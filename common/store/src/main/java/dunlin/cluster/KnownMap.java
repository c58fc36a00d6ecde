package dunlin.cluster;

import dunlin.cluster.call.NodeAddress;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.PlacementWire;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.Member;
import dunlin.store.StoreException;
import dunlin.store.disk.DurableFile;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The newest map of the cluster that this node has received. It is kept over a restart and while the meta group has no
 * leader: with it a node finds the others when no seed answers.
 */
final class KnownMap {
  /*
   * Owner: written under the lock, read by any thread.
   * Bounds: one map; the meta group bounds its size.
   * Failure: the file only speeds up finding the cluster. The node works without one that cannot be read or written.
   */
  private static final Logger log = LoggerFactory.getLogger(KnownMap.class);
  private static final String RAFT = "raft";
  private static final String SERVICE = "service";

  private final DurableFile file;
  private final List<Consumer<ClusterMap>> watchers = new CopyOnWriteArrayList<>();
  private volatile ClusterMap map;
  private long saved; // used by the heartbeat's thread only

  KnownMap(Path directory) {
    file = new DurableFile(directory.resolve("map"));
    map = read();
    saved = map.version();
  }

  private ClusterMap read() {
    try {
      return file.read().map(bytes -> FieldReader.read(bytes, PlacementWire::readMap)).orElseGet(ClusterMap::empty);
    } catch (StoreException | IllegalStateException e) {
      log.warn("The map of the cluster from before the restart cannot be read: {}", e.getMessage());
      return ClusterMap.empty();
    }
  }

  ClusterMap map() {
    return map;
  }

  /** Calls this with the map and with each newer one, in order; it must be quick. */
  synchronized void watch(Consumer<ClusterMap> watcher) {
    watchers.add(watcher);
    watcher.accept(map);
  }

  /** Applies an update from a node that knew more than the version it was asked about. */
  synchronized void update(long asked, ClusterMap.Update update) {
    if (map.version() != asked) return; // the map is newer by now; the next answer continues from there
    take(map.with(update));
  }

  /** Takes the map of this node's own replica of the meta range. */
  synchronized void take(ClusterMap newer) {
    if (newer.version() <= map.version()) return;
    map = newer;
    for (var watcher : watchers) {
      try {
        watcher.accept(newer);
      } catch (RuntimeException e) {
        log.error("A watcher of the cluster's map has thrown an exception", e);
      }
    }
  }

  /** Saves the map for a restart; called by the heartbeat's thread only. */
  void save() {
    var now = map;
    if (now.version() == saved) return;
    try {
      file.write(FieldWriter.bytesOf(out -> PlacementWire.writeMap(now, out)));
      saved = now.version();
    } catch (StoreException e) {
      log.warn("The map of the cluster cannot be saved for a restart: {}", e.getMessage());
    }
  }

  /** Where a node's cluster service answers. */
  Optional<NodeAddress> service(UUID node) {
    return port(node, SERVICE);
  }

  /** Where the cluster services of all nodes but one answer, of those that belong to the cluster. */
  Map<UUID, NodeAddress> servicesBut(UUID one) {
    var addresses = new HashMap<UUID, NodeAddress>();
    for (var node : map.nodes().values()) {
      if (node.state() == ClusterNode.State.LEFT || node.id().equals(one)) continue;
      service(node.id()).ifPresent(at -> addresses.put(node.id(), at));
    }
    return addresses;
  }

  /** Where a node's Raft answers. */
  Optional<Member> raft(UUID node) {
    return port(node, RAFT).map(address -> new Member(node, address.host(), address.port()));
  }

  /** Where a node is, if it belongs to the cluster. */
  Optional<String> host(UUID node) {
    return Optional.ofNullable(map.nodes().get(node)).map(ClusterNode::host);
  }

  private Optional<NodeAddress> port(UUID node, String name) {
    var known = map.nodes().get(node);
    Integer port = known == null ? null : known.ports().get(name);
    return known == null || port == null ? Optional.empty() : Optional.of(new NodeAddress(known.host(), port));
  }

  static Map<String, Integer> ports(int raft, int service) {
    return Map.of(RAFT, raft, SERVICE, service);
  }

  /** Those of a node without a store. */
  static Map<String, Integer> ports(int service) {
    return Map.of(SERVICE, service);
  }
}
