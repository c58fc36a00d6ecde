package dunlin.broker;

import dunlin.broker.connect.LoopConnections;
import dunlin.broker.connect.Reception;
import dunlin.broker.meter.LoopCounts;
import dunlin.runtime.HopLedger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** Reads the ledgers of a frontend so that each reading balances. */
final class LoopAccounts {
  /*
   * A message is counted at a hop by one event loop from its arrival to its end, and in one task of the loop all counts change that belong together. So what a
   * loop reads of itself between two tasks balances, and the sum of what the loops read does, although each reads at a moment of its own. Counts that another
   * thread adds up while loops count do not balance.
   *
   * Owner: a thread that may block.
   * Bounds: one short task for each loop.
   * Failure: all loops together have PATIENCE_SECONDS; then the reading fails.
   */
  private static final int PATIENCE_SECONDS = 10;

  private final Reception reception;

  LoopAccounts(Reception reception) {
    this.reception = reception;
  }

  /** Both hops, as one loop reads them. */
  private record OfLoop(HopLedger.Reading publishes, HopLedger.Reading copies) {
    static OfLoop of(LoopCounts counts) {
      return new OfLoop(counts.publishes().reading(), counts.copies().reading());
    }
  }

  List<HopLedger.Reading> read() {
    List<CompletableFuture<OfLoop>> asked = new ArrayList<>();
    for (LoopConnections part : reception.parts()) {
      CompletableFuture<OfLoop> answer = new CompletableFuture<>();
      asked.add(answer);
      part.loop().post(() -> answer.complete(OfLoop.of(part.loop().counts())));
    }
    List<OfLoop> loops = await(asked);
    return loops.isEmpty() ? List.of() : List.of(sum(loops, OfLoop::publishes), sum(loops, OfLoop::copies));
  }

  private static HopLedger.Reading sum(List<OfLoop> loops, Function<OfLoop, HopLedger.Reading> hop) {
    return loops.stream().map(hop).reduce(HopLedger.Reading::plus).orElseThrow();
  }

  private static List<OfLoop> await(List<CompletableFuture<OfLoop>> asked) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    List<OfLoop> answers = new ArrayList<>();
    try {
      for (CompletableFuture<OfLoop> each : asked) answers.add(each.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS));
      return answers;
    } catch (TimeoutException late) {
      throw new IllegalStateException("the event loops have not answered within %d s".formatted(PATIENCE_SECONDS), late);
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", stopped);
    }
  }
}
