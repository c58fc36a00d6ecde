package dunlin.placement;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.Simulation.Outcome;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The meta group, its operations, the leases and the fence of the ranges under the faults of {@link SimWorld}. */
class SimulationTest {
  /** A seed set by -Ddunlin.test.seed is run alone, and traces its events when it fails. */
  private static final Long ONLY = Long.getLong("dunlin.test.seed");

  private static final int SEEDS = Integer.getInteger("dunlin.test.seeds", 500);
  private static final int SEEDS_OF_MORE = 1500;

  @Test
  void nothingIsLostRepeatedOrStuckWhateverFails() {
    if (ONLY != null) Simulation.run(ONLY, new Rules(), true);
    else nothingIsLostRepeatedOrStuck(0, SEEDS);
  }

  @Test
  @Tag("thorough")
  void nothingIsLostRepeatedOrStuckWithMoreSeeds() {
    nothingIsLostRepeatedOrStuck(SEEDS, SEEDS_OF_MORE);
  }

  private static void nothingIsLostRepeatedOrStuck(int first, int seeds) {
    var outcomes = LongStream.range(first, first + seeds).parallel().mapToObj(seed -> Simulation.run(seed, new Rules(), false)).toList();

    int writes = outcomes.stream().mapToInt(Outcome::acknowledged).sum();
    assertThat(writes).as("writes that were acknowledged").isGreaterThan(seeds * 20);
    long split = outcomes.stream().filter(outcome -> outcome.ranges() > 2).count();
    assertThat(split).as("runs with splits").isGreaterThan(seeds / 2);
    long own = outcomes.stream().filter(outcome -> outcome.ownSplits() > 0).count();
    assertThat(own).as("runs with automatic splits").isGreaterThan(seeds / 10);
  }

  @Test
  void aSeedGivesTheSameRunEachTime() {
    for (long seed = 0; seed < 5; seed++)
      assertThat(Simulation.run(seed, new Rules(), true)).isEqualTo(Simulation.run(seed, new Rules(), false));
  }
}
