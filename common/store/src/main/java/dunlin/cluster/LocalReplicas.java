package dunlin.cluster;

import dunlin.cluster.CreationNotes.Note;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.NodeReport;
import dunlin.store.Member;
import dunlin.store.OutdatedException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The replicas of this node, each with its creation note. */
final class LocalReplicas {
  /*
   * Owner: before the start the thread that starts the cluster; then the actions, one at a time for each range. Read by any thread.
   * Bounds: as many as the meta group assigns to this node, and as many as were split off from these.
   * Failure: a range that was split off here is reported as stored until it runs, so the leader of the meta group asks for its start again and again, ever less often
   * (PendingActions). While it was not reported, its replica would count as lost, and a new one would be made in its place.
   */
  private static final Logger log = LoggerFactory.getLogger(LocalReplicas.class);

  /** A replica and the note that was written when it was made. */
  record Hosted(Replica<?, ?> replica, Note note) {}

  private final @Nullable RangeStore store;
  private final Map<String, RangeKind<?, ?, ?>> kinds;
  private final CreationNotes notes;
  private final Runnable changed;
  private final Map<UUID, Hosted> hosted = new ConcurrentHashMap<>();

  /** Ranges that were split off here and whose start has begun: it has not ended, or it has failed. */
  private final Map<UUID, RangeDescriptor> starting = new ConcurrentHashMap<>();

  private final Set<UUID> failing = ConcurrentHashMap.newKeySet(); // those of them whose start has failed
  private volatile Consumer<UUID> dropped = _ -> {};

  /** @param changed is called when a replica is added or removed, or gains or loses the leadership; must be quick */
  LocalReplicas(@Nullable RangeStore store, Collection<RangeKind<?, ?, ?>> kinds, CreationNotes notes, Runnable changed) {
    this.store = store;
    this.changed = changed;
    if (store != null) store.onSplit(_ -> changed.run());
    this.kinds = kinds.stream().collect(Collectors.toMap(RangeKind::name, Function.identity()));
    this.notes = notes;
  }

  /** Those of a node without a store: it knows no kind of ranges, and refuses every replica. */
  static LocalReplicas none(Path directory, Runnable changed) {
    return new LocalReplicas(null, List.of(), CreationNotes.open(directory.resolve("replicas"), List.of()), changed);
  }

  /** Calls this with each range whose replica is dropped: what was made of the replica must be forgotten. It must be quick. */
  void whenDropped(Consumer<UUID> then) {
    dropped = then;
  }

  /** Whether the disk of this node has room. */
  Disk disk() {
    if (store == null) return Disk.ENOUGH;
    return store.diskLow() ? Disk.LOW : store.diskShort() ? Disk.SHORT : Disk.ENOUGH;
  }

  private RangeStore store() {
    if (store == null) throw new StoreException("this node has no store");
    return store;
  }

  Collection<Hosted> all() {
    return hosted.values();
  }

  Optional<Hosted> find(UUID range) {
    return Optional.ofNullable(hosted.get(range));
  }

  /** @throws StoreException when the data directory holds a range of a kind that this node does not know */
  void requireKnown() {
    store().stored().forEach(this::known);
  }

  private RangeId known(UUID range) {
    return idOf(range)
        .orElseThrow(
            () ->
                new StoreException(
                    "the data directory holds range " + range
                        + ", of a kind that the roles of this node do not include; start it with its former roles, drain it, and then change them"));
  }

  /** Declares what the data directory holds; before the store starts. */
  void declareStored() {
    if (store == null) return;
    for (UUID range : store.stored()) {
      if (hosted.containsKey(range)) continue;
      var id = known(range);
      var note = notes.find(range).orElseThrow(() -> new StoreException("the note of range '" + id + "' is missing"));
      declare(kind(id.kind()), id, note);
    }
  }

  /** Declares the first range of a kind, with this node as its only peer; before the store starts. */
  RangeDescriptor declareFirst(String kind, RangeDescriptor range) {
    var note = new Note(range, NodeReport.ORIGINAL);
    notes.put(note);
    declare(kind(kind), new RangeId(kind, range.id()), note);
    return range;
  }

  private <C, R, L extends RangeLogic<C, R>> void declare(RangeKind<C, R, L> kind, RangeId id, Note note) {
    // A replica that an operation created gets its descriptor with its rows, from another replica.
    boolean first = note.creation().equals(NodeReport.ORIGINAL) && note.range().origin().isEmpty();
    L logic = kind.logic().apply(id);
    var replica =
        first ? store().range(note.range(), kind.codec(), logic) : store().range(id, List.of(), kind.codec(), logic);
    host(kind, replica, logic, note);
  }

  private <C, R, L extends RangeLogic<C, R>> void host(RangeKind<C, R, L> kind, Replica<C, R> replica, L logic, Note note) {
    hosted.put(replica.id().uuid(), new Hosted(replica, note));
    kind.opened().accept(replica, logic);
    replica.onLeadership(_ -> changed.run());
    changed.run();
  }

  /**
   * Creates an empty replica, which the range's leader will add. It bears the identifier of the operation, by which that
   * knows its own, fresh replica. But where a replica has been lost, it gets another identifier, no matter whose the lost
   * one was: the lost one may have voted, the range may still count on that vote, and this call may come late or again.
   * Such a replica is a leftover for every operation, which removes the peer, drops the replica and has a new one made.
   * A loss shows in the note, which stays until the replica is dropped, over quarantine, restarts and a failed creation.
   */
  void create(RangeDescriptor range, UUID creation, List<Member> members, Duration deadline) {
    boolean lost = notes.find(range.id()).isPresent();
    create(kind(range.kind()), new Note(range, lost ? UUID.randomUUID() : creation), members, deadline);
  }

  private <C, R, L extends RangeLogic<C, R>> void create(RangeKind<C, R, L> kind, Note note, List<Member> members, Duration deadline) {
    var id = new RangeId(kind.name(), note.range().id());
    var lost = notes.find(id.uuid());
    notes.put(note); // first: a replica without its note would look like an original one
    L logic = kind.logic().apply(id);
    Replica<C, R> replica;
    try {
      replica = store().createReplica(id, members, true, kind.codec(), logic, deadline);
    } catch (StoreException e) {
      lost.ifPresentOrElse(notes::put, () -> notes.remove(id.uuid()));
      throw e;
    }
    host(kind, replica, logic, note);
  }

  /** Creates the first replica of a range that there was not, while the store runs. */
  void createFirst(RangeDescriptor range, Duration deadline) {
    createFirst(kind(range.kind()), new Note(range, NodeReport.ORIGINAL), deadline);
  }

  private <C, R, L extends RangeLogic<C, R>> void createFirst(RangeKind<C, R, L> kind, Note note, Duration deadline) {
    L logic = kind.logic().apply(new RangeId(kind.name(), note.range().id()));
    notes.put(note); // first: a replica without its note stops the next start
    Replica<C, R> replica;
    try {
      replica = store().createRange(note.range(), kind.codec(), logic, deadline);
    } catch (StoreException e) {
      notes.remove(note.range().id());
      throw e;
    }
    host(kind, replica, logic, note);
  }

  /**
   * Ranges that were split off here and whose group does not run yet: its start is to come, has begun or has failed. One whose start is just ending may be in {@link #all},
   * too; a caller that reads this first misses none.
   */
  List<RangeDescriptor> unstarted() {
    if (store == null) return List.of();
    var unstarted = new LinkedHashMap<UUID, RangeDescriptor>();
    for (var range : store.unstarted()) unstarted.put(range.id(), range);
    starting.forEach(unstarted::putIfAbsent); // read last: what leaves the first is here already
    return List.copyOf(unstarted.values());
  }

  /** Starts the group of a range that was split off here. */
  void start(RangeDescriptor range, List<Member> members, Duration deadline) {
    start(kind(range.kind()), new Note(range, NodeReport.ORIGINAL), members, deadline);
  }

  private <C, R, L extends RangeLogic<C, R>> void start(RangeKind<C, R, L> kind, Note note, List<Member> members, Duration deadline) {
    var id = new RangeId(kind.name(), note.range().id());
    starting.put(id.uuid(), note.range());
    try {
      notes.put(note);
      L logic = kind.logic().apply(id);
      host(kind, store().startSplit(id, members, kind.codec(), logic, deadline), logic, note);
    } catch (OutdatedException e) {
      forget(id.uuid()); // there is nothing to start
      throw e;
    } catch (RuntimeException e) {
      if (failing.add(id.uuid())) log.warn("Range {}: was split off here and cannot be started, which is tried again until it can: {}", id, e.getMessage());
      throw e;
    }
    starting.remove(id.uuid()); // only now: it is reported as hosted
    if (failing.remove(id.uuid())) log.info("Range {}: was split off here and has been started after all", id);
  }

  private void forget(UUID range) {
    starting.remove(range);
    failing.remove(range);
  }

  void drop(UUID range, Duration deadline) {
    var here = hosted.get(range);
    if (here == null) {
      idOf(range).ifPresent(id -> store().dropUnstarted(id));
      if (starting.containsKey(range)) notes.remove(range);
      forget(range);
      changed.run();
      return;
    }
    store().dropReplica(here.replica().id(), deadline);
    hosted.remove(range);
    dropped.accept(range);
    notes.remove(range);
    changed.run();
  }

  /** Reports that a replica has changed in a way that the meta group waits for. */
  void tell() {
    changed.run();
  }

  boolean knows(String kind) {
    return kinds.containsKey(kind);
  }

  /** How many of a key's first bytes must be kept together in one range. */
  ToIntFunction<byte[]> together(String kind) {
    return kind(kind).together();
  }

  /** Whether a range of this kind may be split at this key, as far as this node knows. */
  boolean splitsAt(String kind, byte[] cut) {
    var known = kinds.get(kind);
    return known == null || known.splitsAt(cut);
  }

  private RangeKind<?, ?, ?> kind(String name) {
    var kind = kinds.get(name);
    if (kind == null) throw new StoreException("ranges of kind '" + name + "' are not known here");
    return kind;
  }

  /** The kind is in the identifier itself. */
  private Optional<RangeId> idOf(UUID range) {
    for (String kind : kinds.keySet()) if (RangeId.isOf(kind, range)) return Optional.of(new RangeId(kind, range));
    return Optional.empty();
  }
}
