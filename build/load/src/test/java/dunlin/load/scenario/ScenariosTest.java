package dunlin.load.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.load.mqtt.Version;
import dunlin.load.plan.Figure;
import dunlin.load.plan.Offer;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Step;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests valid scenarios, and the errors of wrong ones. */
class ScenariosTest {
  private static final String WHOLE =
      """
      name: whole
      variables:
        n: 4
        rate: 20/s
      broker:
        host: [127.0.0.1, 127.0.0.2]
        port: 1884
        websocket: /mqtt
        sources: [127.0.0.3]
      defaults:
        keep-alive: 30s
      pools:
        receivers:
          clients: ${n * 2}
          version: [3.1.1, 5]
          clean: false
          session-expiry: 10min
          subscribe:
            - filter: a/%i/#
              qos: 2
            - b
          will: {topic: gone/%c, qos: 1, retain: true}
        senders:
          clients: ${n}
          first: 100
          keep-alive: 60s
          user: u%i
          password: p%i
          reconnect: 1s
          publish:
            - topic: a/%i/x
              qos: [0, 1, 2]
              rate: ${rate}
              payload: '{"n": %i, "seq": %s, "stamp": "%h"}'
            - topic: b
              qos: 1
              window: 5
              size: 1KB
      phases:
        - connect: [receivers, senders]
          rate: 500/s
        - repeat: 2
          phases:
            - publish:
                - {pool: senders, rate: 1/s, to: 9/s}
              churn: {pool: receivers, rate: 10/s}
              for: 10s
            - for: 1s
        - drop: receivers
        - drain: 5s
      expect:
        lost: 0
        p99: 50ms
        connected: ">= 12"
      """;

  private static Plan parse(String text) {
    return Scenarios.parse("s.yaml", text, Path.of(""), Map.of(), List.of(), 1);
  }

  @Test
  void allKeysOfAScenarioAreRead() {
    Plan plan = parse(WHOLE);

    Pool receivers = plan.pool("receivers");
    assertThat(receivers.clients()).isEqualTo(8);
    assertThat(receivers.version(0)).isEqualTo(Version.V3_1_1);
    assertThat(receivers.version(3)).isEqualTo(Version.V5);
    assertThat(receivers.keepAlive()).isEqualTo(Duration.ofSeconds(30));
    assertThat(receivers.clean()).isFalse();
    assertThat(receivers.subscriptions()).hasSize(2);
    assertThat(receivers.endpoint(3).toString()).isEqualTo("127.0.0.2:1884");
    Pool senders = plan.pool("senders");
    assertThat(senders.keepAlive()).isEqualTo(Duration.ofSeconds(60));
    assertThat(senders.who(2).user()).isEqualTo("u102");
    assertThat(senders.publishings().getFirst().qos(5)).isEqualTo(2);
    assertThat(senders.publishings().getLast().rate()).isNull();
    assertThat(plan.steps()).hasSize(1 + 2 * 2 + 2);
    assertThat(plan.steps().get(1)).isInstanceOfSatisfying(Step.Traffic.class, traffic -> {
      assertThat(traffic.flows().getFirst().rateAtEnd()).isEqualTo(new Rate(9));
      assertThat(traffic.churns().getFirst().rate()).isEqualTo(new Rate(10));
    });
    assertThat(plan.expectations()).extracting(expectation -> expectation.figure()).containsExactly(Figure.LOST, Figure.P99, Figure.CONNECTED);
    assertThat(plan.expectations().get(1).limit()).isEqualTo(50_000);
    assertThat(plan.expectations().get(2).holds(11)).isFalse();
  }

  @Test
  void aGivenVariableOverridesTheDefault() {
    Plan plan = Scenarios.parse("s.yaml", WHOLE, Path.of(""), Map.of("n", "7"), List.of(), 1);

    assertThat(plan.pool("senders").clients()).isEqualTo(7);
    assertThat(plan.pool("receivers").clients()).isEqualTo(14);
  }

  @Test
  void theOfferFollowsFromTheScenario() {
    Plan plan = parse(
        """
        pools:
          sub: {clients: 1000, subscribe: one}
          pub: {clients: 9000, publish: {topic: one, rate: 1/s}}
        phases:
          - publish: pub
            for: 1s
        """);

    Offer offer = Offer.of(plan, new Audience(plan)).getFirst();

    assertThat(offer.deliveries()).isEqualTo(9_000_000);
    assertThat(offer.isTooMuch()).isTrue();
    assertThat(offer.line()).contains("9,000 messages/s", "9,000,000 deliveries/s");
  }

  static Stream<Arguments> wrong() {
    return Stream.of(
        Arguments.of("pools:\n  a: {clients: 1, colour: red}\nphases: []\n", "s.yaml, line 2: a pool has no key \"colour\""),
        Arguments.of("pools:\n  a:\n    subscribe: x\nphases: []\n", "s.yaml, line 3: the pool a does not say how many clients it has"),
        Arguments.of("pools:\n  a:\n    clients: 0\nphases: []\n", "s.yaml, line 3: the pool a has no clients"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    connect-rate: 100\nphases: []\n", "s.yaml, line 4: the rate 100 has no unit; write 100/s, 100/min or 100/h"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    keep-alive: 100\nphases: []\n", "s.yaml, line 4: the duration 100 has no unit"),
        Arguments.of("pools:\n  a:\n    clients: ${m}\nphases: []\n", "s.yaml, line 3: there is no variable \"m\""),
        Arguments.of("pools:\n  a:\n    clients: 2\nphases:\n  - connect: b\n", "s.yaml, line 5: there is no pool \"b\"; there are a"),
        Arguments.of("pools:\n  a:\n    clients: 2\nphases:\n  - connect: a\n    drain: 5s\n", "s.yaml, line 5: a phase does one of these"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    publish: {topic: t, rate: 1/s}\nphases:\n  - publish: a\n", "s.yaml, line 6: this phase does not end"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    publish:\n      - topic: t\nphases: []\n", "s.yaml, line 5: a publication has either a \"rate\""),
        Arguments.of("pools:\n  a:\n    clients: 2\n    publish:\n      - topic: t/#\n        rate: 1/s\nphases: []\n", "s.yaml, line 5: \"t/#\" is no topic"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    publish:\n      - topic: t\n        rate: 1/s\n        size: 5\nphases: []\n", "s.yaml, line 7: a payload of 5 bytes has no room"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    publish:\n      - topic: t\n        rate: 1/s\n        payload: hello\nphases: []\n", "s.yaml, line 7: the payload has no %h"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    subscribe:\n      - filter: t\n        qos: 3\nphases: []\n", "s.yaml, line 6: QoS is 0, 1 or 2, and not 3"),
        Arguments.of("pools:\n  a:\n    clients: 2\n    client-id: same\nphases: []\n", "s.yaml, line 3: all clients of the pool a are \"same\""),
        Arguments.of("pools:\n  a:\n    clients: 2\n    version: 6\nphases: []\n", "s.yaml, line 4: there is no version \"6\""),
        Arguments.of("pools:\n  a:\n    clients: 2\nphases: []\nexpect:\n  speed: 5\n", "s.yaml, line 6: nothing is called \"speed\""),
        Arguments.of("pools:\n  a:\n    clients: 2\nphases: []\nexpect:\n  p99: 5\n", "s.yaml, line 6: the duration 5 has no unit"),
        Arguments.of("pools:\n  a: {clients: 1}\n  a: {clients: 2}\nphases: []\n", "s.yaml, line 3: \"a\" stands here twice"),
        Arguments.of("pools: [1, 2\n", "s.yaml, line 2: this is no YAML"),
        Arguments.of("", "s.yaml: the scenario is empty"),
        Arguments.of("pools:\n  a: {clients: 1}\n", "s.yaml, line 1: the scenario has no \"phases\""));
  }

  @ParameterizedTest
  @MethodSource("wrong")
  void anErrorIsOneSentenceWithItsLine(String text, String message) {
    assertThatThrownBy(() -> parse(text)).isInstanceOf(ScenarioException.class).hasMessageStartingWith(message);
  }

  @Test
  void anUnknownVariableIsRefused() {
    assertThatThrownBy(() -> Scenarios.parse("s.yaml", WHOLE, Path.of(""), Map.of("m", "7"), List.of(), 1)).hasMessageContaining("line 2: the scenario has no variable \"m\"; there are n, rate");
  }

  @Test
  void anErrorNamesAMissingFile() {
    assertThatThrownBy(() -> Scenarios.read("no-such.yaml", Map.of(), List.of(), 1)).hasMessageStartingWith("no-such.yaml: there is no such file, and the published scenarios are ramp");
  }
}
