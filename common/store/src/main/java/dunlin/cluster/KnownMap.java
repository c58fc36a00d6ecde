package dunlin.cluster;

import dunlin.cluster.call.NodeAddress;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.Placement;
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
   * The map also says that this node counted as dead. A node whose machine stood still notices that by nothing else, and the map that said so may be lost, so that the
   * next one says that it is back. So an update is searched for it, change by change. Where there is no more than the whole map, it may have been so if there were enough
   * changes in between: a frontend may then disconnect its clients for nothing. That takes a heartbeat that was lost, and no node with a replica of the meta range that answers. What is said before a leader has taken a report of this process is about the process before.
   *
   * Owner: written under the lock, read by any thread.
   * Bounds: one map; the meta group bounds its size.
   * Failure: with the file a node finds the cluster sooner, and knows after a restart that it has left. It works without one that cannot be read or written, and learns both from other nodes.
   */
  private static final Logger log = LoggerFactory.getLogger(KnownMap.class);
  private static final String RAFT = "raft";
  private static final String SERVICE = "service";

  /** Changes of a node that is up, by which it is SUSPECT, DOWN and up again. */
  private static final int DEATH_CHANGES = 3;

  private final UUID self;
  private final DurableFile file;
  private final List<Consumer<ClusterMap>> watchers = new CopyOnWriteArrayList<>();
  private volatile ClusterMap map;

  /** Whether what the map says of this node is about this process. */
  private volatile boolean alive;

  /** Whether this process, or the one before it, has heard that its node has left the cluster, which is for ever. */
  private volatile boolean left;

  private volatile long deaths;
  private long saved; // used by the heartbeat's thread only

  KnownMap(Path directory, UUID self) {
    this.self = self;
    file = new DurableFile(directory.resolve("map"));
    map = read();
    saved = map.version();
    left = isIn(map, ClusterNode.State.LEFT);
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
    var newer = map.with(update);
    if (newer.version() <= map.version()) return;
    boolean died = alive && (isDown(newer) || wasDown(update));
    boolean forgotten = map.nodes().containsKey(self) && !newer.nodes().containsKey(self); // which is possible only for a node that has left
    if (forgotten || isIn(newer, ClusterNode.State.LEFT)) left = true;
    map = newer;
    if (died) deaths++;
    for (var watcher : watchers) {
      try {
        watcher.accept(newer);
      } catch (RuntimeException e) {
        log.error("A watcher of the cluster's map has thrown an exception", e);
      }
    }
  }

  /** Takes the map of this node's own replica of the meta range. */
  synchronized void follow(Placement placement) {
    long version = map.version();
    update(version, placement.since(version));
  }

  /** A leader of the meta group has taken a report of this process. */
  synchronized void heard() {
    if (map.up(self)) alive = true;
  }

  /** Whether this process counts as dead, or its node has left the cluster. */
  boolean isDead() {
    return left || (alive && isDown(map));
  }

  /** Whether its node has left the cluster. */
  boolean hasLeft() {
    return left;
  }

  /** How many times this process has counted as dead, or may have. */
  long deaths() {
    return deaths;
  }

  private boolean isDown(ClusterMap in) {
    return isIn(in, ClusterNode.State.DOWN);
  }

  private boolean isIn(ClusterMap in, ClusterNode.State state) {
    var own = in.nodes().get(self);
    return own != null && own.state() == state;
  }

  private boolean wasDown(ClusterMap.Update update) {
    return switch (update) {
      case ClusterMap.Update.Changes(_, var changes) ->
          changes.stream().anyMatch(each -> each instanceof ClusterMap.Change.NodeIs(var node) && node.id().equals(self) && node.state() == ClusterNode.State.DOWN);
      case ClusterMap.Update.Whole(var newer) -> newer.version() - map.version() >= (map.up(self) ? DEATH_CHANGES : DEATH_CHANGES - 1);
    };
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
