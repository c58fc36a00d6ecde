package dunlin.broker;

import dunlin.broker.connect.LoopConnections;
import dunlin.broker.connect.Reception;
import dunlin.broker.loop.LaneWindow;
import dunlin.runtime.metrics.NodeBeans;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Reads the lanes on their event loops, for an operator, who can wait. */
final class Lanes implements LanesMXBean {
  /*
   * A lane keeps no times of its messages. The oldest is looked for among the unanswered publishes of all clients of its loop, which costs nothing until an operator asks.
   *
   * Owner: any thread that may block.
   * Bounds: a row for each event loop; a loop looks at some clients in each of its rounds.
   * Failure: as of LoopAnswers.
   */
  private static final int TOP_MAX = 100;
  private static final int BETWEEN_READINGS_MILLIS = 500;
  private static final double NANOS_OF_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final String node;
  private final Reception reception;

  Lanes(String node, Reception reception) {
    this.node = node;
    this.reception = reception;
  }

  /** How many messages have come in for a lane until a moment. */
  private record Count(long received, long nanos) {
    static Count of(LoopConnections part) {
      return new Count(part.loop().counts().publishes().reading().received(), System.nanoTime());
    }

    long perSecondSince(Count before) {
      return Math.round((received - before.received) / ((nanos - before.nanos) / NANOS_OF_SECOND));
    }
  }

  /** What a loop says of its lane. */
  private record Reading(Count count, int messages, long bytes, int heldConnections, long oldestMillis) {
    static void of(LoopConnections part, CompletableFuture<Reading> answer) {
      CompletableFuture<Long> oldest = new CompletableFuture<>();
      LaneWindow window = part.loop().window();
      var _ = oldest.thenAccept(millis -> answer.complete(new Reading(Count.of(part), window.messages(), window.bytes(), window.heldConnections(), millis)));
      part.oldestPublish(oldest);
    }
  }

  @Override
  public List<LaneRow> top(LaneFigure by, int max) {
    NodeBeans.requireMax(max, TOP_MAX);
    List<Count> before = LoopAnswers.of(reception, (part, answer) -> answer.complete(Count.of(part)));
    pause();
    List<Reading> now = LoopAnswers.of(reception, Reading::of);
    List<LaneRow> rows = new ArrayList<>();
    for (int lane = 0; lane < before.size(); lane++) {
      Reading each = now.get(lane);
      rows.add(
          new LaneRow(node, lane, each.count().perSecondSince(before.get(lane)), each.messages(), each.bytes(), each.heldConnections(), each.oldestMillis()));
    }
    rows.sort(Comparator.comparingLong(by::of).reversed().thenComparingInt(LaneRow::lane));
    return rows.stream().limit(max).toList();
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(BETWEEN_READINGS_MILLIS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted");
    }
  }
}
