package dunlin.placement;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Action.CreateReplica;
import dunlin.placement.Action.DropReplica;
import dunlin.placement.Action.Elect;
import dunlin.placement.Action.FlushReplica;
import dunlin.placement.Action.ProposeSplit;
import dunlin.placement.Action.StartReplica;
import dunlin.placement.Action.TransferLeadership;
import dunlin.placement.ClusterMap.Change;
import dunlin.placement.ClusterMap.Update;
import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.PlacementResult.Accepted;
import dunlin.placement.PlacementResult.Reason;
import dunlin.placement.PlacementResult.Refused;
import dunlin.placement.RangeAdmin.Outcome;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The wire format of placement: the map and its changes, commands and their results, reports, actions and their
 * outcomes.
 */
public final class PlacementWire {
  private static final int FORMAT = 1;

  private PlacementWire() {}

  public static void writeMap(ClusterMap map, FieldWriter out) {
    out.octet(FORMAT);
    out.number(map.version());
    out.flag(map.founded() != null);
    if (map.founded() != null) out.uuid(map.founded());
    out.list(List.copyOf(map.nodes().values()), (to, node) -> node.writeTo(to));
    out.list(List.copyOf(map.ranges().values()), (to, range) -> range.writeTo(to));
    out.list(List.copyOf(map.intents().values()), (to, intent) -> intent.writeTo(to));
    out.list(
        List.copyOf(map.settings().entrySet()),
        (to, setting) -> {
          to.text(setting.getKey());
          to.text(setting.getValue());
        });
  }

  public static ClusterMap readMap(FieldReader in) {
    in.format(FORMAT, "map of the cluster");
    long version = in.number();
    UUID founded = in.flag() ? in.uuid() : null;
    var map = new ClusterMap(version, founded, new TreeMap<>(), new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
    for (var node : in.list(ClusterNode::readFrom)) map.put(new Change.NodeIs(node));
    for (var range : in.list(PlacedRange::readFrom)) map.put(new Change.RangeIs(range));
    for (var intent : in.list(Intent::readFrom)) map.put(new Change.IntentIs(intent));
    for (var setting : in.list(each -> new Change.SettingIs(each.text(), each.text()))) map.put(setting);
    return map.copy();
  }

  public static void writeUpdate(Update update, FieldWriter out) {
    switch (update) {
      case Update.Changes(var version, var changes) -> {
        out.octet(1);
        out.number(version);
        out.list(changes, (to, change) -> writeChange(change, to));
      }
      case Update.Whole(var map) -> {
        out.octet(2);
        writeMap(map, out);
      }
    }
  }

  public static Update readUpdate(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new Update.Changes(in.number(), in.list(PlacementWire::readChange));
      case 2 -> new Update.Whole(readMap(in));
      default -> throw new IllegalStateException("update of kind " + kind);
    };
  }

  private static void writeChange(Change change, FieldWriter out) {
    switch (change) {
      case Change.Founded(var cluster) -> {
        out.octet(1);
        out.uuid(cluster);
      }
      case Change.NodeIs(var node) -> {
        out.octet(2);
        node.writeTo(out);
      }
      case Change.NodeGone(var node) -> {
        out.octet(3);
        out.uuid(node);
      }
      case Change.RangeIs(var range) -> {
        out.octet(4);
        range.writeTo(out);
      }
      case Change.IntentIs(var intent) -> {
        out.octet(5);
        intent.writeTo(out);
      }
      case Change.IntentGone(var intent) -> {
        out.octet(6);
        out.uuid(intent);
      }
      case Change.SettingIs(var name, var value) -> {
        out.octet(7);
        out.text(name);
        out.text(value);
      }
      case Change.SettingGone(var name) -> {
        out.octet(8);
        out.text(name);
      }
    }
  }

  private static Change readChange(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new Change.Founded(in.uuid());
      case 2 -> new Change.NodeIs(ClusterNode.readFrom(in));
      case 3 -> new Change.NodeGone(in.uuid());
      case 4 -> new Change.RangeIs(PlacedRange.readFrom(in));
      case 5 -> new Change.IntentIs(Intent.readFrom(in));
      case 6 -> new Change.IntentGone(in.uuid());
      case 7 -> new Change.SettingIs(in.text(), in.text());
      case 8 -> new Change.SettingGone(in.text());
      default -> throw new IllegalStateException("change of kind " + kind);
    };
  }

  public static void writeCommand(PlacementCommand command, FieldWriter out) {
    PlacementCodec.write(command, out);
  }

  public static PlacementCommand readCommand(FieldReader in) {
    return PlacementCodec.read(in);
  }

  public static void writeResult(PlacementResult result, FieldWriter out) {
    switch (result) {
      case Accepted(var version) -> {
        out.octet(0);
        out.number(version);
      }
      case Refused(var reason, var sentence) -> {
        out.octet(reason.code());
        out.text(sentence);
      }
    }
  }

  public static PlacementResult readResult(FieldReader in) {
    int code = in.octet();
    return code == 0 ? new Accepted(in.number()) : new Refused(Reason.of(code), in.text());
  }

  public static void writeReport(NodeReport report, FieldWriter out) {
    out.octet(FORMAT);
    out.uuid(report.node());
    out.number(report.leadership());
    out.number(report.incarnation());
    out.number(report.number());
    out.list(report.replicas(), (to, replica) -> writeReplica(replica, to));
    out.list(report.unreached(), FieldWriter::uuid);
  }

  public static NodeReport readReport(FieldReader in) {
    in.format(FORMAT, "report of a node");
    return new NodeReport(in.uuid(), in.number(), in.number(), in.number(), in.list(PlacementWire::readReplica), in.list(FieldReader::uuid));
  }

  private static void writeReplica(Replica replica, FieldWriter out) {
    replica.range().writeTo(out);
    out.number(replica.configuration());
    out.uuid(replica.creation());
    out.flag(replica.phase() == Phase.RUNNING);
    out.flag(replica.leads());
    out.number(replica.term());
    out.number(replica.applied());
    out.flag(replica.based());
    out.list(
        replica.followers(),
        (to, follower) -> {
          to.uuid(follower.node());
          to.number(follower.lag());
        });
    out.number(replica.load().bytes());
    out.number(replica.load().unflushed());
    out.number(replica.load().operationsPerSecond());
    writeKey(replica.load().middle(), out);
    writeKey(replica.load().busiest(), out);
    out.flag(replica.load().indivisible());
  }

  private static Replica readReplica(FieldReader in) {
    return new Replica(
        RangeDescriptor.readFrom(in),
        in.number(),
        in.uuid(),
        in.flag() ? Phase.RUNNING : Phase.STORED,
        in.flag(),
        in.number(),
        in.number(),
        in.flag(),
        in.list(each -> new Follower(each.uuid(), each.number())),
        new Load(in.number(), in.number(), in.number(), readKey(in), readKey(in), in.flag()));
  }

  private static void writeKey(byte @Nullable [] key, FieldWriter out) {
    out.flag(key != null);
    if (key != null) out.bytes(key);
  }

  private static byte @Nullable [] readKey(FieldReader in) {
    return in.flag() ? in.bytes() : null;
  }

  public static void writeProgress(Progress progress, FieldWriter out) {
    progress.writeTo(out);
  }

  public static Progress readProgress(FieldReader in) {
    return Progress.readFrom(in);
  }

  public static void writeAction(Action action, FieldWriter out) {
    switch (action) {
      case CreateReplica(var node, var descriptor, var creation) -> {
        begin(1, node, out);
        descriptor.writeTo(out);
        out.uuid(creation);
      }
      case StartReplica(var node, var range) -> {
        begin(2, node, out);
        out.uuid(range);
      }
      case DropReplica(var node, var range, var creation) -> {
        begin(3, node, out);
        out.uuid(range);
        out.uuid(creation);
      }
      case ChangePeers(var node, var range, var configuration, var expected, var wanted) -> {
        begin(4, node, out);
        out.uuid(range);
        out.number(configuration);
        RangeDescriptor.writePeers(expected, out);
        RangeDescriptor.writePeers(wanted, out);
      }
      case TransferLeadership(var node, var range, var to) -> {
        begin(5, node, out);
        out.uuid(range);
        out.uuid(to);
      }
      case FlushReplica(var node, var range) -> {
        begin(6, node, out);
        out.uuid(range);
      }
      case ProposeSplit(var node, var split) -> {
        begin(7, node, out);
        split.writeTo(out);
      }
      case Elect(var node, var range) -> {
        begin(8, node, out);
        out.uuid(range);
      }
    }
  }

  private static void begin(int kind, UUID node, FieldWriter out) {
    out.octet(kind);
    out.uuid(node);
  }

  public static Action readAction(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new CreateReplica(in.uuid(), RangeDescriptor.readFrom(in), in.uuid());
      case 2 -> new StartReplica(in.uuid(), in.uuid());
      case 3 -> new DropReplica(in.uuid(), in.uuid(), in.uuid());
      case 4 ->
          new ChangePeers(
              in.uuid(), in.uuid(), in.number(), RangeDescriptor.readPeers(in), RangeDescriptor.readPeers(in));
      case 5 -> new TransferLeadership(in.uuid(), in.uuid(), in.uuid());
      case 6 -> new FlushReplica(in.uuid(), in.uuid());
      case 7 -> {
        var node = in.uuid();
        if (!(Operation.readFrom(in) instanceof Operation.Split split))
          throw new IllegalStateException("an operation that is no split");
        yield new ProposeSplit(node, split);
      }
      case 8 -> new Elect(in.uuid(), in.uuid());
      default -> throw new IllegalStateException("action of kind " + kind);
    };
  }

  public static void writeOutcome(Outcome outcome, FieldWriter out) {
    switch (outcome) {
      case Outcome.Done _ -> out.octet(1);
      case Outcome.Outdated(var why) -> {
        out.octet(2);
        out.text(why);
      }
      case Outcome.Unknown(var why) -> {
        out.octet(3);
        out.text(why);
      }
    }
  }

  public static Outcome readOutcome(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new Outcome.Done();
      case 2 -> new Outcome.Outdated(in.text());
      case 3 -> new Outcome.Unknown(in.text());
      default -> throw new IllegalStateException("outcome of kind " + kind);
    };
  }
}
