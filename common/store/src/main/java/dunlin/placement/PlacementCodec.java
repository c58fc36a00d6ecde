package dunlin.placement;

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
import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor;
import java.nio.ByteBuffer;

/** The log's form of the meta group's commands: a kind byte, then the fields in the order in which the records declare them. */
public final class PlacementCodec implements CommandCodec<PlacementCommand> {
  /** All may use the reserve of a full disk: the rows are small, and moving ranges away is how a node's disk gets room again. */
  @Override
  public CommandKind kind(PlacementCommand command) {
    return CommandKind.RELEASE;
  }

  @Override
  public int encodedLength(PlacementCommand command) {
    return FieldWriter.lengthOf(out -> write(command, out));
  }

  @Override
  public void encode(PlacementCommand command, ByteBuffer out) {
    write(command, new FieldWriter(out));
  }

  @Override
  public PlacementCommand decode(ByteBuffer in) {
    return FieldReader.read(in, PlacementCodec::read);
  }

  static void write(PlacementCommand command, FieldWriter out) {
    switch (command) {
      case FoundCluster(var cluster) -> {
        out.octet(1);
        out.uuid(cluster);
      }
      case RegisterNode(var node) -> {
        out.octet(2);
        node.writeTo(out);
      }
      case MarkNode(var node, var from, var to) -> {
        out.octet(3);
        out.uuid(node);
        from.writeTo(out);
        to.writeTo(out);
      }
      case ForgetNode(var node) -> {
        out.octet(4);
        out.uuid(node);
      }
      case PlaceRange(var range) -> {
        out.octet(5);
        range.writeTo(out);
      }
      case PeersChanged(var range, var epoch, var configuration, var peers) -> {
        out.octet(6);
        out.uuid(range);
        out.number(epoch);
        out.number(configuration);
        RangeDescriptor.writePeers(peers, out);
      }
      case Begin(var intent, var operation) -> {
        out.octet(7);
        out.uuid(intent);
        operation.writeTo(out);
      }
      case Cancel(var intent) -> {
        out.octet(8);
        out.uuid(intent);
      }
      case Finish(var intent) -> {
        out.octet(9);
        out.uuid(intent);
      }
      case Abandon(var intent) -> {
        out.octet(10);
        out.uuid(intent);
      }
      case SplitDone(var intent, var child, var configuration) -> {
        out.octet(11);
        out.uuid(intent);
        child.writeTo(out);
        out.number(configuration);
      }
      case Change(var name, var value) -> {
        out.octet(12);
        out.text(name);
        out.flag(value != null);
        if (value != null) out.text(value);
      }
      case Adding(var intent, var configuration) -> {
        out.octet(13);
        out.uuid(intent);
        out.number(configuration);
      }
    }
  }

  static PlacementCommand read(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new FoundCluster(in.uuid());
      case 2 -> new RegisterNode(ClusterNode.readFrom(in));
      case 3 -> new MarkNode(in.uuid(), ClusterNode.State.readFrom(in), ClusterNode.State.readFrom(in));
      case 4 -> new ForgetNode(in.uuid());
      case 5 -> new PlaceRange(RangeDescriptor.readFrom(in));
      case 6 -> new PeersChanged(in.uuid(), in.number(), in.number(), RangeDescriptor.readPeers(in));
      case 7 -> new Begin(in.uuid(), Operation.readFrom(in));
      case 8 -> new Cancel(in.uuid());
      case 9 -> new Finish(in.uuid());
      case 10 -> new Abandon(in.uuid());
      case 11 -> new SplitDone(in.uuid(), RangeDescriptor.readFrom(in), in.number());
      case 12 -> new Change(in.text(), in.flag() ? in.text() : null);
      case 13 -> new Adding(in.uuid(), in.number());
      default -> throw new IllegalStateException("command of kind " + kind);
    };
  }
}
