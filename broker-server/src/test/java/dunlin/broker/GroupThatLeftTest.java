package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.loop.FrontendSettings;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A message whose group had members on this frontend when its route was picked, and has none when it arrives: the
 * members left while it waited for a QoS 2 exchange to be recorded.
 */
class GroupThatLeftTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int GONE = 63;

  private static FrontendSettings settings() {
    var waits = new FrontendSettings.GroupWaits(Duration.ofSeconds(5), Duration.ofSeconds(1), 100_000);
    return OpenFrontend.settings(
        new FrontendSettings.Connections(Duration.ofSeconds(60), Duration.ZERO, 100, 0, 0, ""),
        new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 100, 10, 100, 65_536),
        new FrontendSettings.Lanes(2, 1_000, 1_000_000, 100),
        waits);
  }

  @ParameterizedTest
  @CsvSource({"$share/g/t, 1", "$share/g/t, 2", "$oshare/g/t, 1", "$oshare/g/t, 2"})
  void goesToTheDurableMembers(String filter, int qos, @TempDir Path data) throws Exception {
    try (RealTiers node = new RealTiers(data, settings())) {
      LoopClient durable = LoopClient.connected(node.frontend, 0, 'd', 60);
      byte[] name = filter.getBytes(StandardCharsets.UTF_8);
      String body = "%04x00%04x".formatted(1, name.length) + HexFormat.of().formatHex(name) + "02";
      durable.send("82%02x".formatted(body.length() / 2) + body);
      durable.hears("9004" + "0001" + "00" + "02");

      var routes = new MatchedRoutes();
      routes.add(new Route(Publisher.DEFAULT_TENANT, TopicFilter.parse(filter).orElseThrow(), node.frontend.identity().shard(), 0, GONE));
      var message =
          Publication.of(
              new Publisher(Publisher.DEFAULT_TENANT, "p"), "t", QoS.of(qos), false, System.currentTimeMillis(),
              "kept".getBytes(StandardCharsets.UTF_8));
      var answer = new OpenFrontend.Answer();
      node.on(
          1,
          () -> {
            node.frontend.delivery().deliver(message, routes, null, answer);
            return true;
          });

      assertThat(answer.reason.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo(ReasonCode.SUCCESS);
      String kept = HexFormat.of().formatHex("kept".getBytes(StandardCharsets.UTF_8));
      await().atMost(SOON).until(() -> durable.heard().contains(kept));
      assertThat(node.on(1, () -> node.frontend.loop(1).window().messages())).isZero();
      durable.close();
    }
  }
}
