package dunlin.chaos.mqtt;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.chaos.mqtt.check.Drops;
import dunlin.chaos.mqtt.check.Facts;
import dunlin.chaos.mqtt.check.MqttChecker;
import dunlin.chaos.mqtt.check.Violation;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The checker accepts a good history, and finds each single violation that is added to it. */
final class MutantsTest {
  private static final int TRIES = 20;

  static List<String> names() {
    return Mutants.ALL.stream().map(Mutants.Mutant::name).toList();
  }

  @Test
  void findsNothingWhereNothingIsWrong() {
    assertThat(TestHistory.good().check()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("names")
  void findsEachMutant(String name) {
    var mutant = Mutants.ALL.stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
    var good = TestHistory.good().events();
    for (int seed = 0; seed < TRIES; seed++) {
      var changed = mutant.mutation().of(new Facts(good), new Random(seed));
      assertThat(changed).as("%s has something to change, seed %d", name, seed).isPresent();
      assertThat(MqttChecker.check(changed.get(), Drops.NONE)).as("seed %d", seed).extracting(Violation::promise).contains(mutant.promise());
    }
  }
}
