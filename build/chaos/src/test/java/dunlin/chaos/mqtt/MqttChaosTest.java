package dunlin.chaos.mqtt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.mqtt.MqttChaos.Request;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class MqttChaosTest {
  private static Request request(String rounds) {
    return MqttChaos.parse(List.of("--distribution", "dunlin", "--out", "out", "--rounds", rounds), 1);
  }

  private static List<Integer> rounds(Request request) {
    return IntStream.range(0, request.trials()).mapToObj(number -> request.trial(number).rounds()).toList();
  }

  @Test
  void manyRoundsAreSeveralTrialsInSeparateDirectories() {
    assertThat(rounds(request("3"))).containsExactly(3);
    assertThat(rounds(request("25"))).containsExactly(25);
    assertThat(rounds(request("60"))).containsExactly(25, 25, 10);
    var all = request("60");
    assertThat(IntStream.range(0, all.trials()).mapToObj(number -> all.trial(number).out())).doesNotHaveDuplicates();
  }

  @Test
  void zeroRoundsAreRefused() {
    assertThatThrownBy(() -> request("0")).hasMessage("--rounds 0 is less than 1");
  }
}
