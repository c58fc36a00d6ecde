package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.model.Publisher;
import dunlin.model.ReasonCode;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a publisher is answered, and what is counted, if another tier does not accept its message. */
class PublishAnswerTest {
  // CONNECT with a clean start, no keep alive and client identifier "c".
  private static final String CONNECT_5 = "100e00044d5154540502000000000163";
  private static final String CONNECT_3 = "100d00044d5154540402000000" + "0163";

  private static String sent(OpenFrontend frontend, EmbeddedChannel channel) {
    StringBuilder hex = new StringBuilder();
    frontend.on(
        0,
        () -> {
          for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            hex.append(ByteBufUtil.hexDump(out));
            out.release();
          }
          return null;
        });
    return hex.toString();
  }

  private static EmbeddedChannel connected(OpenFrontend frontend, String connect) {
    EmbeddedChannel channel = frontend.client(HexFormat.of().parseHex(connect));
    await().until(() -> sent(frontend, channel).startsWith("20"));
    return channel;
  }

  private static void send(OpenFrontend frontend, EmbeddedChannel channel, String hex) {
    frontend.on(0, () -> channel.writeInbound(Unpooled.buffer().writeBytes(HexFormat.of().parseHex(hex))));
  }

  private static double dropped(OpenFrontend frontend, String reason) {
    return frontend.meters.find("dunlin.messages.dropped").tags("hop", "publish", "reason", reason).functionCounters().stream()
        .mapToDouble(counter -> counter.count())
        .sum();
  }

  @ParameterizedTest
  @CsvSource({
    "SERVER_BUSY, 83, overloaded",
    "SERVER_UNAVAILABLE, 83, overloaded",
    "UNSPECIFIED_ERROR, 80, not-durable",
    "QUOTA_EXCEEDED, 97, queue-full",
    "MESSAGE_RATE_TOO_HIGH, 97, no-member"
  })
  @Tag("MQTT-3.4.2-1")
  @Tag("MQTT-3.5.2-1")
  @Tag("drop:publish:overloaded")
  @Tag("drop:publish:not-durable")
  void theCodeIsOneThatAnAcknowledgementMayHaveAndTheReasonIsSaid(ReasonCode answer, String code, String drop) {
    try (OpenFrontend frontend = new OpenFrontend(1)) {
      frontend.dist.publishAnswer = answer;
      Trace trace = frontend.tracer.begin("t", Publisher.DEFAULT_TENANT, "", "t", "", Duration.ofMinutes(10));
      EmbeddedChannel channel = connected(frontend, CONNECT_5);
      send(frontend, channel, "3206" + "000174" + "0007" + "00");
      send(frontend, channel, "3406" + "000174" + "0008" + "00");
      StringBuilder all = new StringBuilder();
      await()
          .untilAsserted(
              () -> {
                String hex = all.append(sent(frontend, channel)).toString();
                assertThat(hex).matches("40..0007" + code + "..1f00.*50..0008" + code + "..1f00.*");
              });
      assertThat(dropped(frontend, drop)).isEqualTo(2);
      assertThat(drops(trace)).containsExactly(drop, drop);
    }
  }

  /** The reasons for drops that a trace has, all at the hop of publishes. */
  private static List<String> drops(Trace trace) {
    List<Event> dropped = trace.read(0, 100).events().stream().filter(event -> event.step().equals("dropped")).toList();
    assertThat(dropped).extracting(Event::hop).containsOnly("publish");
    return dropped.stream().map(Event::reason).toList();
  }

  @Test
  @Tag("drop:publish:session-ended")
  void aPublishRefusedSinceItsSessionWasTakenOverIsNotOverload() {
    for (String connect : new String[] {CONNECT_5, CONNECT_3}) {
      try (OpenFrontend frontend = new OpenFrontend(1)) {
        frontend.dist.publishAnswer = ReasonCode.SESSION_TAKEN_OVER;
        Trace trace = frontend.tracer.begin("t", Publisher.DEFAULT_TENANT, "", "t", "", Duration.ofMinutes(10));
        EmbeddedChannel channel = connected(frontend, connect);
        boolean five = connect.equals(CONNECT_5);
        send(frontend, channel, five ? "3406" + "000174" + "0008" + "00" : "3405" + "000174" + "0008");
        await().until(() -> !channel.isActive());
        String why = "another connection uses this client identifier";
        assertThat(sent(frontend, channel)).isEqualTo(five ? "e0338e311f002e" + HexFormat.of().formatHex(why.getBytes(StandardCharsets.US_ASCII)) : "");
        assertThat(dropped(frontend, "session-ended")).isEqualTo(1);
        assertThat(drops(trace)).containsExactly("session-ended");
        assertThat(dropped(frontend, "overloaded")).isZero();
      }
    }
  }
}
