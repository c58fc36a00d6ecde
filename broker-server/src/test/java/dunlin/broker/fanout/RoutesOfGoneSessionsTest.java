package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.Budgets;
import dunlin.broker.OpenFrontend;
import dunlin.broker.limit.NodeBudget;
import dunlin.model.Publisher;
import dunlin.model.TopicFilter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clients that subscribe, disconnect and come again while the dist tier makes no changes to routes. */
class RoutesOfGoneSessionsTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int LARGE = 64 << 20;
  private static final int BUDGET = 1 << 20;
  private static final int CHANGES_MAX = 8_192;
  private static final int EACH = 10;

  private final OpenFrontend open =
      new OpenFrontend(1, OpenFrontend.QUEUE_MESSAGES, Budgets.of(new NodeBudget.Bounds(LARGE, LARGE, LARGE, LARGE, BUDGET, LARGE, LARGE, LARGE)));

  @AfterEach
  void closes() {
    open.close();
  }

  private EmbeddedChannel client() {
    return open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));
  }

  private void subscribe(EmbeddedChannel client, List<String> filters) {
    var body = Unpooled.buffer().writeShort(7).writeByte(0);
    for (String filter : filters) body.writeShort(filter.length()).writeBytes(filter.getBytes(StandardCharsets.UTF_8)).writeByte(1);
    int length = body.readableBytes();
    var packet = Unpooled.buffer().writeByte(0x82);
    if (length < 128) packet.writeByte(length);
    else packet.writeByte((length & 0x7f) | 0x80).writeByte(length >> 7);
    packet.writeBytes(body);
    open.on(
        0,
        () -> {
          client.releaseOutbound();
          return client.writeInbound(packet);
        });
    for (int i = 0; i < 3; i++) open.on(0, () -> true); // it may be processed in a later round
  }

  private void disconnect(EmbeddedChannel client) {
    open.on(0, client::close);
    await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1)).atMost(SOON).until(() -> open.on(0, () -> !client.isOpen()));
    open.on(0, client::finishAndReleaseAll);
  }

  /** The reason codes of the SUBACK that the client has got; none without one. */
  private byte[] suback(EmbeddedChannel client) {
    return open.on(
        0,
        () -> {
          client.flushOutbound();
          for (ByteBuf out = client.readOutbound(); out != null; out = client.readOutbound()) {
            byte[] bytes = ByteBufUtil.getBytes(out);
            out.release();
            if ((bytes[0] & 0xff) == 0x90) return new byte[] {bytes[bytes.length - 1]};
          }
          return new byte[0];
        });
  }

  private int changesWaiting() {
    return open.on(0, () -> open.fanout().on(0).routes().changesWaiting());
  }

  private static List<String> filters(int client) {
    return IntStream.range(0, EACH).mapToObj(i -> "client/" + client + "/" + i).toList();
  }

  private void answerAll() {
    for (int i = 0; i < open.dist.answers.size(); i++) open.dist.answers.get(i).complete(null);
    for (int i = 0; i < 3; i++) open.on(0, () -> true);
  }

  @Test
  void useUpTheBudgetForSubscriptionsAndNoMore() {
    byte[] last = {};
    for (int i = 0; i < 600; i++) {
      EmbeddedChannel client = client();
      subscribe(client, filters(i));
      last = suback(client);
      disconnect(client);
    }

    assertThat(last).as("the last client is refused").containsExactly((byte) 0x97);
    assertThat(changesWaiting()).isLessThanOrEqualTo(2 * BUDGET / RouteTable.SUBSCRIPTION_BYTES);

    while (changesWaiting() > 0) answerAll();
    EmbeddedChannel client = client();
    subscribe(client, filters(0));
    answerAll();
    assertThat(suback(client)).as("once the routes are removed").containsExactly((byte) 1);
    assertThat(open.dist.calls.stream().filter(call -> call.startsWith("+")).count() - EACH)
        .as("each route that was set was removed")
        .isEqualTo(open.dist.calls.stream().filter(call -> call.startsWith("-")).count());
  }

  @Test
  void leaveNothingOfRoutesThatWereNotSetYet() {
    open.on(
        0,
        () -> {
          for (int i = 0; i < CHANGES_MAX; i++) open.fanout().on(0).routes().acquire(Publisher.DEFAULT_TENANT, TopicFilter.plain("before/" + i));
          return true;
        });
    for (int i = 0; i < 300; i++) {
      EmbeddedChannel client = client();
      subscribe(client, filters(i));
      assertThat(changesWaiting()).isEqualTo(CHANGES_MAX + EACH);
      disconnect(client);
      assertThat(changesWaiting()).isEqualTo(CHANGES_MAX);
    }

    answerAll();
    assertThat(open.dist.calls).hasSize(CHANGES_MAX).allMatch(call -> call.startsWith("+before/"));
  }
}
