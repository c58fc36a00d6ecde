package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A QoS 2 PUBLISH that is read from a connection whose session already belongs to another connection. */
class ExactlyOnceTest {
  /**
   * The old connection's loop is kept busy until the session has its new owner, and then reads what has
   * arrived.
   */
  @Test
  @Tag("MQTT-4.3.3-10")
  void reachesAnOnlineSubscriberOnceWhenItIsSentAgain(@TempDir Path data) throws Exception {
    try (RealTiers broker = new RealTiers(data, OpenFrontend.settings(2))) {
      Frontend frontend = broker.frontend;
      LoopClient online = LoopClient.connected(frontend, 1, 's', 0);
      LoopClient durable = LoopClient.connected(frontend, 0, 'd', 60);
      for (LoopClient subscriber : List.of(online, durable)) {
        subscriber.send("82070001000001" + "74" + "02");
        subscriber.hears("9004000100" + "02");
      }
      LoopClient old = LoopClient.connected(frontend, 0, 'p', 60);

      LoopClient next =
          frontend
              .loop(0)
              .executor()
              .submit(
                  () -> {
                    LoopClient taking = LoopClient.connected(frontend, 1, 'p', 60);
                    old.send(LoopClient.publish(0x34, 7, "once"));
                    return taking;
                  })
              .get(60, TimeUnit.SECONDS);
      old.hears("e0.*8e.*");
      next.send(LoopClient.publish(0x3C, 7, "once"));
      next.hears("50020007");
      next.send(LoopClient.publish(0x34, 8, "end"));
      next.hears("50020008");

      for (LoopClient subscriber : List.of(online, durable)) {
        String end = "656e64";
        await().until(() -> subscriber.heard().contains(end));
        assertThat(Pattern.compile("6f6e6365").matcher(subscriber.heard()).results()).hasSize(1);
      }
    }
  }
}
