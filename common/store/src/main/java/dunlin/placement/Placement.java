package dunlin.placement;

import dunlin.placement.ClusterMap.Change.Founded;
import dunlin.placement.ClusterMap.Change.IntentGone;
import dunlin.placement.ClusterMap.Change.IntentIs;
import dunlin.placement.ClusterMap.Change.NodeGone;
import dunlin.placement.ClusterMap.Change.NodeIs;
import dunlin.placement.ClusterMap.Change.RangeIs;
import dunlin.placement.ClusterMap.Change.SettingGone;
import dunlin.placement.ClusterMap.Change.SettingIs;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.Adding;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.Cancel;
import dunlin.placement.PlacementCommand.Change;
import dunlin.placement.PlacementCommand.Finish;
import dunlin.placement.PlacementCommand.ForgetNode;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementCommand.PeersChanged;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementCommand.SplitDone;
import dunlin.placement.PlacementResult.Accepted;
import dunlin.placement.PlacementResult.Reason;
import dunlin.placement.PlacementResult.Refused;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The meta group's state machine: nodes, the map of ranges, operations in progress, and settings of the cluster. Every
 * command that changes something raises the map's version; a command whose effect is already there is accepted and
 * changes nothing.
 */
public final class Placement implements RangeLogic<PlacementCommand, PlacementResult> {
  /*
   * Owner: the range's applying thread. map() and since() are for any thread: they read what was published last.
   * Bounds: NODES_MAX, RANGES_MAX, INTENTS_MAX, SETTINGS_MAX, each refused as FULL; HISTORY_MAX changes, of which the
   * oldest are dropped.
   * Failure: rows that cannot be read stop the replica, like any exception here. The history is not kept in rows: after a
   * restart, watchers that are behind get the whole map.
   */
  public static final int NODES_MAX = 1024;
  public static final int RANGES_MAX = 4096;
  public static final int INTENTS_MAX = 256;
  public static final int SETTINGS_MAX = 512;
  public static final int SETTING_LENGTH_MAX = 4096;
  static final int HISTORY_MAX = 1024;

  private record Past(long version, ClusterMap.Change change) {}

  /** What other threads see: map and history of the same version. */
  private record Published(ClusterMap map, List<Past> history) {}

  private final Consumer<Placement> watcher;
  private final Deque<Past> history = new ArrayDeque<>();

  private ClusterMap rows = fresh(); // its maps are changed in place; version and identity are kept beside it
  private long version;
  private @Nullable UUID cluster;
  private volatile Published published = new Published(ClusterMap.empty(), List.of());

  /** @param watcher is called after each log entry that changed the map, on the applying thread */
  public Placement(Consumer<Placement> watcher) {
    this.watcher = watcher;
  }

  /** The map as of the entry that was applied last. */
  public ClusterMap map() {
    return published.map;
  }

  /** What has changed since a version, or the whole map when that version is too old or unknown. */
  public ClusterMap.Update since(long known) {
    var now = published;
    if (known == now.map.version()) return new ClusterMap.Update.Changes(known, List.of());
    long oldest = now.history.isEmpty() ? Long.MAX_VALUE : now.history.getFirst().version;
    if (known > now.map.version() || known < oldest - 1) return new ClusterMap.Update.Whole(now.map);
    var changes = now.history.stream().filter(past -> past.version > known).map(Past::change).toList();
    return new ClusterMap.Update.Changes(now.map.version(), changes);
  }

  @Override
  public void open(RangeReader state) {
    rows = fresh();
    history.clear();
    PlacementRows.read(state, rows);
    version = PlacementRows.version(state);
    cluster = PlacementRows.cluster(state);
    publish();
  }

  @Override
  public List<PlacementResult> apply(List<PlacementCommand> commands, RangeWriter out) {
    long before = version;
    var results = new ArrayList<PlacementResult>(commands.size());
    for (var command : commands) results.add(apply(command, out));
    if (version != before) publish();
    return results;
  }

  private PlacementResult apply(PlacementCommand command, RangeWriter out) {
    if (cluster == null && !(command instanceof FoundCluster))
      return new Refused(Reason.UNKNOWN_CLUSTER, "the cluster has not been founded");
    return switch (command) {
      case FoundCluster(var id) -> found(id, out);
      case RegisterNode(var node) -> register(node, out);
      case MarkNode mark -> mark(mark, out);
      case ForgetNode(var node) -> forget(node, out);
      case PlaceRange(var range) -> place(range, out);
      case PeersChanged changed -> peers(changed, out);
      case Begin(var id, var operation) -> begin(id, operation, out);
      case Cancel(var id) -> cancel(id, out);
      case Finish(var id) -> finish(id, out);
      case Abandon(var id) -> abandon(id, out);
      case Adding adding -> adding(adding, out);
      case SplitDone done -> splitDone(done, out);
      case Change(var name, var value) -> set(name, value, out);
    };
  }

  private PlacementResult found(UUID id, RangeWriter out) {
    if (cluster != null)
      return cluster.equals(id) ? same() : refused(Reason.CONFLICT, "this is cluster " + cluster + ", not " + id);
    cluster = id;
    return changed(out, new Founded(id));
  }

  private PlacementResult register(ClusterNode node, RangeWriter out) {
    var known = rows.nodes().get(node.id());
    if (known == null) {
      if (rows.nodes().size() >= NODES_MAX) return full(NODES_MAX + " nodes");
      return changed(out, new NodeIs(node.in(State.JOINED)));
    }
    if (known.state() == State.LEFT)
      return refused(
          Reason.CONFLICT, "node " + node.id() + " has left; with an empty data directory it can come back as a new node");
    // A node that registers is back, but its state changes only when the leader renews its lease.
    var updated = node.in(known.state());
    return updated.equals(known) ? same() : changed(out, new NodeIs(updated));
  }

  private PlacementResult mark(MarkNode mark, RangeWriter out) {
    var known = rows.nodes().get(mark.node());
    if (known == null) return unknownNode(mark.node());
    if (mark.to() == State.LEFT) return refused(Reason.STALE, "a node leaves by an operation");
    if (known.state() != mark.from())
      return refused(Reason.STALE, "node " + mark.node() + " is " + known.state() + ", not " + mark.from());
    var to = mark.to();
    if (to == State.JOINED && rows.emptying(mark.node()).isPresent()) to = State.DRAINING;
    if (to == State.DRAINING && rows.emptying(mark.node()).isEmpty())
      return refused(Reason.STALE, "a node is drained by an operation");
    return known.state() == to ? same() : changed(out, new NodeIs(known.in(to)));
  }

  private PlacementResult forget(UUID node, RangeWriter out) {
    var known = rows.nodes().get(node);
    if (known == null) return same();
    if (known.state() != State.LEFT) return refused(Reason.STALE, "node " + node + " has not left");
    return changed(out, new NodeGone(node));
  }

  private PlacementResult place(RangeDescriptor range, RangeWriter out) {
    var known = rows.ranges().get(range.id());
    if (known != null)
      return known.range().kind().equals(range.kind())
          ? same()
          : refused(Reason.CONFLICT, "range " + range.id() + " is of kind " + known.range().kind());
    if (rows.ranges().size() >= RANGES_MAX) return full(RANGES_MAX + " ranges");
    for (var other : rows.ranges().values())
      if (other.range().kind().equals(range.kind()) && other.range().keys().overlaps(range.keys()))
        return refused(Reason.OVERLAP, range.kind() + " " + range.keys() + " overlaps range " + other.range().id());
    for (UUID node : range.peers()) if (!rows.nodes().containsKey(node)) return unknownNode(node);
    return changed(out, new RangeIs(new PlacedRange(range, -1)));
  }

  private PlacementResult peers(PeersChanged changed, RangeWriter out) {
    var known = rows.ranges().get(changed.range());
    if (known == null) return refused(Reason.UNKNOWN_RANGE, "there is no range " + changed.range());
    if (known.range().epoch() != changed.epoch() || known.configuration() >= changed.configuration())
      return refused(
          Reason.STALE,
          "range " + changed.range() + " is at epoch " + known.range().epoch() + ", configuration " + known.configuration());
    return changed(out, new RangeIs(new PlacedRange(known.range().withPeers(changed.peers()), changed.configuration())));
  }

  private PlacementResult begin(UUID id, Operation operation, RangeWriter out) {
    var known = rows.intents().get(id);
    if (known != null)
      return known.operation().equals(operation)
          ? same()
          : refused(Reason.CONFLICT, "operation " + id + " is another one");
    if (rows.intents().size() >= INTENTS_MAX) return full(INTENTS_MAX + " operations");
    var refusal = OperationRules.refusal(operation, rows);
    if (refusal != null) return refusal;
    var emptied = operation.emptied();
    if (emptied.isPresent()) {
      var node = rows.nodes().get(emptied.get());
      if (node != null && node.state() == State.JOINED) put(out, new NodeIs(node.in(State.DRAINING)));
    }
    var placed = operation.range().map(rows.ranges()::get);
    int voters = placed.map(range -> range.range().peers().size()).orElse(0);
    return changed(out, new IntentIs(new Intent(id, operation, voters, false, Intent.NOT_ADDING)));
  }

  private PlacementResult cancel(UUID id, RangeWriter out) {
    var intent = rows.intents().get(id);
    if (intent == null) return unknownOperation(id);
    if (intent.operation() instanceof Operation.Split)
      return refused(Reason.STALE, "a split is not cancelled: the range may have applied it already");
    if (intent.operation().emptied().isPresent()) return abandon(id, out); // moves that have begun still finish
    return intent.cancelled() ? same() : changed(out, new IntentIs(intent.cancel()));
  }

  private PlacementResult adding(Adding adding, RangeWriter out) {
    var intent = rows.intents().get(adding.intent());
    if (intent == null) return unknownOperation(adding.intent());
    boolean known = intent.adding() >= adding.configuration();
    return known ? same() : changed(out, new IntentIs(intent.adding(adding.configuration())));
  }

  private PlacementResult finish(UUID id, RangeWriter out) {
    var intent = rows.intents().get(id);
    if (intent == null) return unknownOperation(id);
    switch (intent.operation()) {
      case Operation.Split _ -> {
        return refused(Reason.STALE, "a split ends with its child");
      }
      case Operation.LeaveNode(var node) -> {
        var left = rows.rangesOn(node);
        if (!left.isEmpty())
          return refused(Reason.LOSES_QUORUM, "node " + node + " still has a replica of range " + left.getFirst().id());
        var known = rows.nodes().get(node);
        if (known != null) put(out, new NodeIs(known.in(State.LEFT)));
      }
      case Operation.AddReplica _, Operation.MoveReplica _, Operation.ReplaceReplica _ -> {}
      case Operation.TransferLeadership _, Operation.DrainNode _ -> {}
    }
    return changed(out, new IntentGone(id));
  }

  private PlacementResult abandon(UUID id, RangeWriter out) {
    var intent = rows.intents().get(id);
    if (intent == null) return unknownOperation(id);
    var emptied = intent.operation().emptied();
    if (emptied.isPresent()) {
      var node = rows.nodes().get(emptied.get());
      if (node != null && node.state() == State.DRAINING) put(out, new NodeIs(node.in(State.JOINED)));
    }
    return changed(out, new IntentGone(id));
  }

  private PlacementResult splitDone(SplitDone done, RangeWriter out) {
    var intent = rows.intents().get(done.intent());
    if (intent == null) return unknownOperation(done.intent());
    if (!(intent.operation() instanceof Operation.Split(var of, var epoch, var cut, var childId)))
      return refused(Reason.STALE, "operation " + done.intent() + " is not a split");
    var parent = rows.ranges().get(of);
    var child = done.child();
    if (parent == null || parent.range().epoch() != epoch || !parent.range().keys().splitsAt(cut))
      return refused(Reason.STALE, "range " + of + " is not what the split began with");
    if (!child.id().equals(childId)
        || child.epoch() != epoch + 1
        || !child.keys().equals(parent.range().keys().from(cut))
        || child.origin().filter(origin -> origin.parent().equals(of)).isEmpty())
      return refused(Reason.CONFLICT, child + " is not the child of this split");
    if (rows.ranges().size() >= RANGES_MAX) return full(RANGES_MAX + " ranges");
    put(out, new RangeIs(new PlacedRange(parent.range().lower(cut), parent.configuration())));
    put(out, new RangeIs(new PlacedRange(child, done.configuration())));
    return changed(out, new IntentGone(done.intent()));
  }

  private PlacementResult set(String name, @Nullable String value, RangeWriter out) {
    if (name.isEmpty() || name.length() > SETTING_LENGTH_MAX || (value != null && value.length() > SETTING_LENGTH_MAX))
      return full("settings of 1 to " + SETTING_LENGTH_MAX + " characters");
    String known = rows.settings().get(name);
    if (value == null) return known == null ? same() : changed(out, new SettingGone(name));
    if (value.equals(known)) return same();
    if (known == null && rows.settings().size() >= SETTINGS_MAX) return full(SETTINGS_MAX + " settings");
    return changed(out, new SettingIs(name, value));
  }

  /** One change of a command that makes several; not its last. */
  private void put(RangeWriter out, ClusterMap.Change change) {
    version++;
    rows.put(change);
    PlacementRows.write(change, version, out);
    if (history.size() >= HISTORY_MAX) history.removeFirst();
    history.addLast(new Past(version, change));
  }

  private PlacementResult changed(RangeWriter out, ClusterMap.Change change) {
    put(out, change);
    return new Accepted(version);
  }

  private PlacementResult same() {
    return new Accepted(version);
  }

  private static PlacementResult refused(Reason reason, String sentence) {
    return new Refused(reason, sentence);
  }

  private static PlacementResult full(String what) {
    return refused(Reason.FULL, "there can be at most " + what);
  }

  private static PlacementResult unknownNode(UUID node) {
    return refused(Reason.UNKNOWN_NODE, "there is no node " + node);
  }

  private static PlacementResult unknownOperation(UUID id) {
    return refused(Reason.UNKNOWN_OPERATION, "operation " + id + " has ended or never was");
  }

  private void publish() {
    var map = new ClusterMap(version, cluster, rows.nodes(), rows.ranges(), rows.intents(), rows.settings()).copy();
    published = new Published(map, List.copyOf(history));
    watcher.accept(this);
  }

  private static ClusterMap fresh() {
    return new ClusterMap(0, null, new TreeMap<>(), new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
  }
}
