package dunlin.cluster;

import dunlin.cluster.ReplicaNotes.Note;
import dunlin.placement.NodeReport;
import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeStore;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The replicas of this node, with what is known of each besides its rows. */
final class LocalReplicas {
  /*
   * Owner: before the start whoever starts the cluster; then the actions, one at a time for each range. Read by any thread.
   * Bounds: as many as the meta group gives this node.
   */
  /** A replica and the note that was written when it was made. */
  record Hosted(Replica<?, ?> replica, Note note) {}

  private final RangeStore store;
  private final Map<String, RangeKind<?, ?>> kinds;
  private final ReplicaNotes notes;
  private final Map<UUID, Hosted> hosted = new ConcurrentHashMap<>();

  LocalReplicas(RangeStore store, Collection<RangeKind<?, ?>> kinds, ReplicaNotes notes) {
    this.store = store;
    this.kinds = kinds.stream().collect(Collectors.toMap(RangeKind::name, Function.identity()));
    this.notes = notes;
  }

  Collection<Hosted> all() {
    return hosted.values();
  }

  Optional<Hosted> find(UUID range) {
    return Optional.ofNullable(hosted.get(range));
  }

  /** Declares what the data directory holds; before the store starts. */
  void declareStored() {
    for (UUID range : store.stored()) {
      if (hosted.containsKey(range)) continue;
      var id =
          idOf(range)
              .orElseThrow(() -> new StoreException("the data directory holds range " + range + " of a kind that is not known here"));
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

  private <C, R> void declare(RangeKind<C, R> kind, RangeId id, Note note) {
    var replica = store.range(id, List.of(), kind.codec(), kind.logic().apply(id));
    hosted.put(id.uuid(), new Hosted(replica, note));
    kind.opened().accept(replica);
  }

  /** Makes an empty replica that listens. */
  void create(RangeDescriptor range, UUID creation, List<Member> members, Duration deadline) {
    create(kind(range.kind()), new Note(range, creation), members, deadline);
  }

  private <C, R> void create(RangeKind<C, R> kind, Note note, List<Member> members, Duration deadline) {
    var id = new RangeId(kind.name(), note.range().id());
    notes.put(note); // first: a replica without its note could not be told from one of the beginning
    Replica<C, R> replica;
    try {
      replica = store.createReplica(id, members, true, kind.codec(), kind.logic().apply(id), deadline);
    } catch (StoreException e) {
      notes.remove(id.uuid());
      throw e;
    }
    hosted.put(id.uuid(), new Hosted(replica, note));
    kind.opened().accept(replica);
  }

  void drop(UUID range, Duration deadline) {
    var dropped = hosted.get(range);
    if (dropped == null) return;
    store.dropReplica(dropped.replica().id(), deadline);
    hosted.remove(range);
    notes.remove(range);
  }

  boolean knows(String kind) {
    return kinds.containsKey(kind);
  }

  private RangeKind<?, ?> kind(String name) {
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
