package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.listen.IoTransport;
import dunlin.broker.listen.ListenerSettings;
import dunlin.broker.listen.ListeningSettings;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.LaneWindow;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Publishers of all kinds whose lanes have credit for far more than the ranges accept: they are held back, and nothing
 * else happens.
 */
class FullRangeTest {
  private static final int MESSAGES = 150;
  private static final int QUEUED = 8;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** A PUBLISH of QoS 1 or 2 to "t" without properties, whose payload is a letter and three digits. */
  private static final Pattern DELIVERY = Pattern.compile("3[0-9a-f]0a000174[0-9a-f]{4}00([0-9a-f]{8})");

  private static FrontendSettings settings() {
    return new FrontendSettings(
        new ListeningSettings(List.of(ListenerSettings.tcp("tcp", "127.0.0.1", 0)), IoTransport.AUTO, 1 << 20),
        OpenFrontend.PACKETS,
        FrontendSettings.Features.all(),
        new FrontendSettings.Connections(Duration.ofSeconds(60), Duration.ZERO, 1_000, 0, 0, ""),
        new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 100, 10_000, 100, 65_536),
        new FrontendSettings.Lanes(2, 16_384, 1 << 25, 1_024),
        OpenFrontend.GROUP_WAITS);
  }

  private record Sender(LoopClient client, boolean mqtt3, int qos, char name) {
    String packet(int number, boolean retain) {
      int first = 0x30 | qos << 1 | (retain ? 1 : 0);
      String payload = "%c%03d".formatted(name, number);
      return mqtt3 ? LoopClient.publishMqtt3(first, number, payload) : LoopClient.publish(first, number, payload);
    }

    String answers(String type) {
      StringBuilder all = new StringBuilder();
      for (int i = 1; i <= MESSAGES; i++) all.append(type).append("02%04x".formatted(i));
      return all.toString();
    }
  }

  @Test
  void holdsPublishersBackInsteadOfClosingThemAndKeepsTheirOrder(@TempDir Path data) {
    try (RealTiers broker = new RealTiers(data, settings(), QUEUED, 1)) {
      Frontend frontend = broker.frontend;
      LoopClient subscriber = LoopClient.connected(frontend, 1, 's', 60);
      subscriber.send("82070001000001" + "74" + "02");
      subscriber.hears("9004000100" + "02");
      List<Sender> senders = new ArrayList<>();
      for (char name = 'a'; name <= 'h'; name++) {
        int kind = name - 'a';
        boolean mqtt3 = kind % 2 == 0;
        int loop = kind / 4;
        LoopClient client =
            mqtt3 ? LoopClient.connectedMqtt3(frontend, loop, name) : LoopClient.connected(frontend, loop, name, 60);
        senders.add(new Sender(client, mqtt3, 1 + kind / 2 % 2, name));
      }

      for (Sender sender : senders) {
        StringBuilder all = new StringBuilder();
        for (int i = 1; i <= MESSAGES; i++) all.append(sender.packet(i, i % 10 == 0));
        sender.client().send(all.toString());
      }

      for (Sender sender : senders) {
        sender.client().hears(sender.answers(sender.qos() == 1 ? "40" : "50"));
        if (sender.qos() == 2) sender.client().send(sender.answers("62"));
      }
      for (Sender sender : senders) if (sender.qos() == 2) sender.client().hears(sender.answers("70"));
      assertThat(broker.meters.get("dunlin.store.rejected").counters()).as("the ranges were full").anyMatch(each -> each.count() > 0);
      assertThat(senders).allMatch(sender -> sender.client().isOpen());
      assertArrivesInOrder(subscriber, senders);
      for (int loop = 0; loop < 2; loop++) {
        LaneWindow window = frontend.loop(loop).window();
        assertThat(broker.on(loop, window::messages)).isZero();
        assertThat(broker.on(loop, window::bytes)).isZero();
      }
    }
  }

  private static void assertArrivesInOrder(LoopClient subscriber, List<Sender> senders) {
    await().atMost(PATIENCE).until(() -> DELIVERY.matcher(subscriber.heard()).results().count() >= (long) MESSAGES * senders.size());
    Map<Character, List<Integer>> came = new HashMap<>();
    DELIVERY
        .matcher(subscriber.heard())
        .results()
        .forEach(
            delivery -> {
              String payload = new String(HexFormat.of().parseHex(delivery.group(1)), StandardCharsets.UTF_8);
              came.computeIfAbsent(payload.charAt(0), _ -> new ArrayList<>()).add(Integer.parseInt(payload.substring(1)));
            });
    List<Integer> all = IntStream.rangeClosed(1, MESSAGES).boxed().toList();
    for (Sender sender : senders) {
      assertThat(came.get(sender.name())).as("QoS %s of %s, MQTT 3: %s", sender.qos(), sender.name(), sender.mqtt3()).isEqualTo(all);
    }
  }
}
