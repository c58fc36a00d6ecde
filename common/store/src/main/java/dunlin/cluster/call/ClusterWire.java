package dunlin.cluster.call;

import dunlin.cluster.call.ClusterAnswer.CarriedOut;
import dunlin.cluster.call.ClusterAnswer.Changed;
import dunlin.cluster.call.ClusterAnswer.CutIs;
import dunlin.cluster.call.ClusterAnswer.Fit;
import dunlin.cluster.call.ClusterAnswer.Heard;
import dunlin.cluster.call.ClusterAnswer.HelloIs;
import dunlin.cluster.call.ClusterAnswer.NotLeading;
import dunlin.cluster.call.ClusterAnswer.ProgressIs;
import dunlin.cluster.call.ClusterAnswer.Proposed;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterAnswer.Unfit;
import dunlin.cluster.call.ClusterAnswer.Unknown;
import dunlin.cluster.call.ClusterCall.AskProgress;
import dunlin.cluster.call.ClusterCall.CarryOut;
import dunlin.cluster.call.ClusterCall.FindCut;
import dunlin.cluster.call.ClusterCall.Hello;
import dunlin.cluster.call.ClusterCall.Join;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ClusterCall.Report;
import dunlin.cluster.call.ClusterCall.Watch;
import dunlin.placement.PlacementWire;
import dunlin.placement.Progress;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.time.Duration;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Calls and answers as bytes. Both begin with a format number; a call then names the cluster that its sender belongs to. */
public final class ClusterWire {
  private static final int FORMAT = 3;

  /** @param cluster null from a node that belongs to none yet, which may only say hello; to that, any node answers */
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
      case Join(var node, var run, var at, var noticedWithin, var downAfter, var agreed, var relayed) -> {
        out.octet(6);
        out.uuid(node);
        out.uuid(run);
        out.text(at.host());
        out.number(at.port());
        out.number(noticedWithin.toMillis());
        out.number(downAfter.toMillis());
        out.number(agreed.size());
        agreed.forEach(
            (name, value) -> {
              out.text(name);
              out.text(value);
            });
        out.flag(relayed);
      }
      case AskProgress _ -> out.octet(7);
      case FindCut(var range) -> {
        out.octet(8);
        out.uuid(range);
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
      case 6 ->
          new Join(
              in.uuid(), in.uuid(), new NodeAddress(in.text(), in.count()), Duration.ofMillis(in.number()), Duration.ofMillis(in.number()), readAgreed(in), in.flag());
      case 7 -> new AskProgress();
      case 8 -> new FindCut(in.uuid());
      default -> throw new IllegalStateException("call of kind " + kind);
    };
  }

  private static NavigableMap<String, String> readAgreed(FieldReader in) {
    var agreed = new TreeMap<String, String>();
    for (int i = in.countWithin(); i > 0; i--) agreed.put(in.text(), in.text());
    return agreed;
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
      case Heard(var leadership, var update, var leaders) -> {
        out.octet(3);
        out.number(leadership);
        PlacementWire.writeUpdate(update, out);
        out.number(leaders.size());
        leaders.forEach(
            (range, node) -> {
              out.uuid(range);
              out.uuid(node);
            });
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
      case Fit _ -> out.octet(9);
      case Unfit(var sentence) -> {
        out.octet(10);
        out.text(sentence);
      }
      case ProgressIs(var operations) -> {
        out.octet(11);
        out.number(operations.size());
        operations.forEach(
            (operation, progress) -> {
              out.uuid(operation);
              PlacementWire.writeProgress(progress, out);
            });
      }
      case CutIs(var key) -> {
        out.octet(12);
        out.bytes(key);
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
      case 3 -> new Heard(in.number(), PlacementWire.readUpdate(in), leaders(in));
      case 4 -> new Changed(PlacementWire.readUpdate(in));
      case 5 -> new CarriedOut(PlacementWire.readOutcome(in));
      case 6 -> new NotLeading(in.flag() ? new NodeAddress(in.text(), in.count()) : null);
      case 7 -> new Refused(in.text());
      case 8 -> new Unknown(in.text());
      case 9 -> new Fit();
      case 10 -> new Unfit(in.text());
      case 11 -> new ProgressIs(operations(in));
      case 12 -> new CutIs(in.bytes());
      default -> throw new IllegalStateException("answer of kind " + kind);
    };
  }

  private static NavigableMap<UUID, UUID> leaders(FieldReader in) {
    var leaders = new TreeMap<UUID, UUID>();
    for (int i = in.count(); i > 0; i--) leaders.put(in.uuid(), in.uuid());
    return leaders;
  }

  private static NavigableMap<UUID, Progress> operations(FieldReader in) {
    var operations = new TreeMap<UUID, Progress>();
    for (int i = in.countWithin(); i > 0; i--) operations.put(in.uuid(), PlacementWire.readProgress(in));
    return operations;
  }
}
