package dunlin.cluster.call;

import dunlin.cluster.call.ClusterAnswer.CarriedOut;
import dunlin.cluster.call.ClusterAnswer.Changed;
import dunlin.cluster.call.ClusterAnswer.Heard;
import dunlin.cluster.call.ClusterAnswer.HelloIs;
import dunlin.cluster.call.ClusterAnswer.NotLeading;
import dunlin.cluster.call.ClusterAnswer.Proposed;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterAnswer.Unknown;
import dunlin.cluster.call.ClusterCall.CarryOut;
import dunlin.cluster.call.ClusterCall.Hello;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ClusterCall.Report;
import dunlin.cluster.call.ClusterCall.Watch;
import dunlin.placement.PlacementWire;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Calls and answers as bytes. Both begin with a format number; a call then names the cluster that its sender belongs to. */
public final class ClusterWire {
  private static final int FORMAT = 1;

  /** @param cluster null from a node that belongs to none yet, which may only say hello */
  public record Sent(@Nullable UUID cluster, ClusterCall call) {}

  private ClusterWire() {}

  public static byte[] bytes(Sent sent) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(FORMAT);
          out.flag(sent.cluster != null);
          if (sent.cluster != null) out.uuid(sent.cluster);
          write(sent.call, out);
        });
  }

  private static void write(ClusterCall call, FieldWriter out) {
    switch (call) {
      case Hello _ -> out.octet(1);
      case Propose(var command) -> {
        out.octet(2);
        PlacementWire.writeCommand(command, out);
      }
      case Report(var report, var known) -> {
        out.octet(3);
        PlacementWire.writeReport(report, out);
        out.number(known);
      }
      case Watch(var known) -> {
        out.octet(4);
        out.number(known);
      }
      case CarryOut(var action, var leadership, var deadline) -> {
        out.octet(5);
        PlacementWire.writeAction(action, out);
        out.number(leadership);
        out.number(deadline.toMillis());
      }
    }
  }

  /** @throws IllegalStateException when the bytes are no call */
  public static Sent call(byte[] bytes) {
    return FieldReader.read(
        bytes,
        in -> {
          in.format(FORMAT, "call");
          UUID cluster = in.flag() ? in.uuid() : null;
          return new Sent(cluster, readCall(in));
        });
  }

  private static ClusterCall readCall(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new Hello();
      case 2 -> new Propose(PlacementWire.readCommand(in));
      case 3 -> new Report(PlacementWire.readReport(in), in.number());
      case 4 -> new Watch(in.number());
      case 5 -> new CarryOut(PlacementWire.readAction(in), in.number(), Duration.ofMillis(in.count()));
      default -> throw new IllegalStateException("call of kind " + kind);
    };
  }

  public static byte[] bytes(ClusterAnswer answer) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(FORMAT);
          write(answer, out);
        });
  }

  private static void write(ClusterAnswer answer, FieldWriter out) {
    switch (answer) {
      case HelloIs(var node, var cluster) -> {
        out.octet(1);
        out.uuid(node);
        out.flag(cluster != null);
        if (cluster != null) out.uuid(cluster);
      }
      case Proposed(var result) -> {
        out.octet(2);
        PlacementWire.writeResult(result, out);
      }
      case Heard(var leadership, var update) -> {
        out.octet(3);
        out.number(leadership);
        PlacementWire.writeUpdate(update, out);
      }
      case Changed(var update) -> {
        out.octet(4);
        PlacementWire.writeUpdate(update, out);
      }
      case CarriedOut(var outcome) -> {
        out.octet(5);
        PlacementWire.writeOutcome(outcome, out);
      }
      case NotLeading(var leader) -> {
        out.octet(6);
        out.flag(leader != null);
        if (leader != null) {
          out.text(leader.host());
          out.number(leader.port());
        }
      }
      case Refused(var sentence) -> {
        out.octet(7);
        out.text(sentence);
      }
      case Unknown(var sentence) -> {
        out.octet(8);
        out.text(sentence);
      }
    }
  }

  /** @throws IllegalStateException when the bytes are no answer */
  public static ClusterAnswer answer(byte[] bytes) {
    return FieldReader.read(
        bytes,
        in -> {
          in.format(FORMAT, "answer");
          return readAnswer(in);
        });
  }

  private static ClusterAnswer readAnswer(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new HelloIs(in.uuid(), in.flag() ? in.uuid() : null);
      case 2 -> new Proposed(PlacementWire.readResult(in));
      case 3 -> new Heard(in.number(), PlacementWire.readUpdate(in));
      case 4 -> new Changed(PlacementWire.readUpdate(in));
      case 5 -> new CarriedOut(PlacementWire.readOutcome(in));
      case 6 -> new NotLeading(in.flag() ? new NodeAddress(in.text(), in.count()) : null);
      case 7 -> new Refused(in.text());
      case 8 -> new Unknown(in.text());
      default -> throw new IllegalStateException("answer of kind " + kind);
    };
  }
}
