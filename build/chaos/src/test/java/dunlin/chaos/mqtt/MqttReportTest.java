package dunlin.chaos.mqtt;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.chaos.mqtt.Row.Form;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MqttReportTest {
  private static final Row KILLS = new Row("cluster-kills", "kills", Set.of(), Map.of(), Form.CLUSTER, _ -> {});

  private static Outcome trial(String kills) {
    return new Outcome(KILLS, 1, Outcome.PASSED, List.of(), List.of(), Map.of(MqttReport.STRIKES + "kill", kills, MqttReport.PUBLISHED, "1000"), 0, List.of());
  }

  @Test
  void theStrikesOfAllTrialsOfASoakAreCounted() {
    assertThat(MqttReport.markdown(1, List.of(trial("17"), trial("1984")))).contains("`cluster-kills`: 2 of 2 trials passed, 0 anomalies; published 2,000, received 0; strikes: kill: 2,001.");
  }

  @Test
  void aRowWithoutStrikesHasNoCountOfThem() {
    var none = new Outcome(KILLS, 1, Outcome.PASSED, List.of(), List.of(), Map.of(), 0, List.of());
    assertThat(MqttReport.markdown(1, List.of(none, none))).contains("received 0.").doesNotContain("strikes");
  }

  @Test
  void mutantsThatNoTrialHadAPlaceForAreNamed() {
    assertThat(MqttReport.markdown(1, List.of(placeless("a, b"), placeless("b, c")))).contains("received 0; had a place in no trial: b.");
    assertThat(MqttReport.markdown(1, List.of(placeless("a, b"), placeless("")))).contains("received 0.").doesNotContain("had a place in no trial");
  }

  private static Outcome placeless(String names) {
    return new Outcome(KILLS, 1, Outcome.PASSED, List.of(), List.of(), Map.of(MqttReport.PLACELESS, names), 20, List.of());
  }
}
