package dunlin.broker;

import dunlin.broker.connect.Reception;
import dunlin.broker.meter.LoopCounts;
import dunlin.runtime.HopLedger;
import java.util.List;
import java.util.function.Function;

/** Reads the ledgers of a frontend so that each reading balances. */
final class LoopAccounts {
  /*
   * A message is counted at a hop by one event loop from its arrival to its end, and in one task of the loop all counts change that belong together. So what a
   * loop reads of itself between two tasks balances, and the sum of what the loops read does, although each reads at a moment of its own. Counts that another
   * thread adds up while loops count do not balance.
   *
   * Owner: a thread that may block.
   * Bounds and failure: as of LoopAnswers.
   */
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
    List<OfLoop> loops = LoopAnswers.of(reception, (part, answer) -> answer.complete(OfLoop.of(part.loop().counts())));
    return loops.isEmpty() ? List.of() : List.of(sum(loops, OfLoop::publishes), sum(loops, OfLoop::copies));
  }

  private static HopLedger.Reading sum(List<OfLoop> loops, Function<OfLoop, HopLedger.Reading> hop) {
    return loops.stream().map(hop).reduce(HopLedger.Reading::plus).orElseThrow();
  }
}
