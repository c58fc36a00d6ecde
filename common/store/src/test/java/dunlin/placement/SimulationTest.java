package dunlin.placement;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.Simulation.Outcome;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The meta group, its operations, the leases and the fence of the ranges under the faults of {@link SimWorld}. */
class SimulationTest {
  /** A seed set by -Ddunlin.test.seed is run alone, and traces its events when it fails. */
  private static final Long ONLY = Long.getLong("dunlin.test.seed");

  private static final int SEEDS = Integer.getInteger("dunlin.test.seeds", 2000);

  @Test
  void nothingIsLostRepeatedOrStuckWhateverFails() {
    if (ONLY != null) {
      Simulation.run(ONLY, new Rules(), true);
      return;
    }
    var outcomes = LongStream.range(0, SEEDS).parallel().mapToObj(seed -> Simulation.run(seed, new Rules(), false)).toList();

    int writes = outcomes.stream().mapToInt(Outcome::acknowledged).sum();
    assertThat(writes).as("writes that were acknowledged").isGreaterThan(SEEDS * 20);
    long split = outcomes.stream().filter(outcome -> outcome.ranges() > 2).count();
    assertThat(split).as("runs with splits").isGreaterThan(SEEDS / 2);
    long own = outcomes.stream().filter(outcome -> outcome.ownSplits() > 0).count();
    assertThat(own).as("runs with automatic splits").isGreaterThan(SEEDS / 10);
  }

  @Test
  void aSeedGivesTheSameRunEachTime() {
    for (long seed = 0; seed < 5; seed++)
      assertThat(Simulation.run(seed, new Rules(), true)).isEqualTo(Simulation.run(seed, new Rules(), false));
  }
}
