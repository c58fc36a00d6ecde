package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.Budgets;
import dunlin.broker.OpenFrontend;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.session.Hold;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Incomplete packets of all clients of a frontend together. */
class InputMemoryTest {
  private static final int LIMIT = 128 * 1_024;

  /** The bytes that the loop keeps in reserve. */
  private static final int RESERVE = 1_024;

  private static final int PATIENCE_TICKS = 60;

  /** The bytes of one read. */
  private static final int PART = 250;

  /** CONNECT of MQTT 5 with Clean Start and the client identifier "c". */
  private static final byte[] CONNECT = HexFormat.of().parseHex("100e00044d5154540502000000" + "000163");

  private final NodeBudget budget = Budgets.of(new NodeBudget.Bounds(LIMIT, LIMIT, LIMIT, LIMIT / 4, LIMIT, LIMIT, 16_384, 16_384));
  private final OpenFrontend open = new OpenFrontend(1, 10, budget);

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void aClientThatHoldsTooMuchIsNotReadFromUntilOthersAreDone() {
    List<EmbeddedChannel> clients = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      EmbeddedChannel client = open.client(CONNECT);
      clients.add(client);
      for (int part = 0; part < 100 && reads(client); part++) send(client, part == 0 ? publishOf(30_000) : new byte[PART]);
    }
    // The first client was allowed its bytes before the others connected.
    for (EmbeddedChannel client : clients) if (reads(client)) send(client, new byte[PART]);
    assertThat(budget.unfinished().used()).isBetween(LIMIT / 2L, LIMIT + clients.size() * 4L * PART);
    assertThat(clients).filteredOn(this::reads).isEmpty();
    assertThat(budget.unfinished().refused()).isEqualTo(clients.size());

    EmbeddedChannel small = open.client(CONNECT);
    send(small, HexFormat.of().parseHex("c000"));
    assertThat(reads(small)).isTrue();

    for (EmbeddedChannel client : clients.subList(1, 20)) close(client);
    ticks(1);
    assertThat(reads(clients.getFirst())).isTrue();
    close(clients.getFirst());
    assertThat(budget.unfinished().used()).isLessThanOrEqualTo(RESERVE);
  }

  /**
   * Otherwise a client with small messages, one of which is split between two reads, would wait for those that hold
   * everything.
   */
  @Test
  void aFewBytesAreReadHoweverLittleIsLeft() {
    int limit = 16 * 1_024 * 1_024;
    NodeBudget large = Budgets.of(new NodeBudget.Bounds(limit, limit, limit, limit / 4, limit, limit, 16_384, 16_384));
    try (OpenFrontend many = new OpenFrontend(1, 10, large)) {
      while (large.unfinished().used() < limit + 200_000) {
        EmbeddedChannel spender = many.client(CONNECT);
        many.on(0, () -> spender.writeInbound(Unpooled.wrappedBuffer(publishOf(60_000))));
        many.on(0, () -> spender.writeInbound(Unpooled.wrappedBuffer(new byte[50_000])));
      }
      assertThat(large.unfinished().used()).isGreaterThanOrEqualTo(limit);

      EmbeddedChannel small = many.client(CONNECT);
      many.on(0, () -> small.writeInbound(Unpooled.wrappedBuffer(publishOf(30_000))));
      assertThat(many.<Boolean>on(0, () -> small.isActive() && small.config().isAutoRead())).isTrue();
      assertThat(large.unfinished().refused()).isPositive();
    }
  }

  @Test
  void aClientThatDoesNotFinishItsPacketIsClosedWhenOthersHaveWaited() {
    List<EmbeddedChannel> clients = List.of(open.client(CONNECT), open.client(CONNECT));
    for (EmbeddedChannel client : clients) {
      send(client, publishOf(60_000));
      for (int i = 0; i < 200 && reads(client); i++) send(client, new byte[PART]);
    }
    EmbeddedChannel waits = clients.getLast();
    assertThat(reads(waits)).isFalse();
    ticks(PATIENCE_TICKS);
    assertThat(open.on(0, waits::isActive)).isFalse();
    assertThat(reason(waits)).isEqualTo(0x97);
    for (EmbeddedChannel client : clients) close(client);
    assertThat(budget.unfinished().used()).isLessThanOrEqualTo(RESERVE);
  }

  /** Its packets are complete and wait for the broker; the client has done nothing wrong. */
  @Test
  void aClientThatIsNotReadFromForAnotherReasonStays() {
    EmbeddedChannel held = open.client(CONNECT);
    open.on(
        0,
        () -> {
          held.pipeline().get(Connection.class).hold(Hold.CREDIT);
          return true;
        });
    for (int i = 0; i < 10; i++) send(held, new byte[10_000]);
    ticks(PATIENCE_TICKS);
    assertThat(held.isActive()).isTrue();
    assertThat(budget.unfinished().used()).isGreaterThan(100_000);
  }

  @Test
  void unfinishedConnectsTakeNothingFromClientsThatAreKnown() {
    List<EmbeddedChannel> strangers = new ArrayList<>();
    byte[] most = Arrays.copyOf(HexFormat.of().parseHex("10801f00044d51545405c2000000"), 3_000);
    for (int i = 0; i < 30; i++) strangers.add(open.client(most));
    assertThat(budget.unauthenticated().used()).isBetween(LIMIT / 8L, LIMIT / 4L + RESERVE);
    assertThat(strangers).filteredOn(EmbeddedChannel::isActive).hasSizeLessThan(10);

    EmbeddedChannel client = open.client(CONNECT);
    send(client, publishOf(60_000));
    assertThat(reads(client)).isTrue();
    assertThat(budget.unfinished().used()).isPositive();

    ticks(PATIENCE_TICKS);
    assertThat(client.isActive()).isTrue();
    assertThat(reads(open.client(Arrays.copyOf(CONNECT, 10)))).as("another CONNECT in two parts").isTrue();
  }

  /** The beginning of a PUBLISH with this remaining length. */
  private static byte[] publishOf(int remaining) {
    byte[] start = {0x30, (byte) (0x80 | (remaining & 0x7F)), (byte) (0x80 | (remaining >> 7 & 0x7F)), (byte) (remaining >> 14), 0, 1, 't', 0};
    return Arrays.copyOf(start, PART);
  }

  private void send(EmbeddedChannel client, byte[] bytes) {
    open.on(0, () -> client.writeInbound(Unpooled.wrappedBuffer(bytes).copy()));
  }

  private boolean reads(EmbeddedChannel client) {
    return open.on(0, () -> client.isActive() && client.config().isAutoRead());
  }

  private void close(EmbeddedChannel client) {
    open.on(0, client::close);
  }

  private void ticks(int count) {
    open.on(
        0,
        () -> {
          for (int i = 0; i < count; i++) open.connections(0).inputMemory().tick();
          return true;
        });
  }

  /** The reason code of the last DISCONNECT. */
  private int reason(EmbeddedChannel client) {
    return open.on(
        0,
        () -> {
          int reason = -1;
          for (ByteBuf out = client.readOutbound(); out != null; out = client.readOutbound()) {
            String bytes = out.toString(StandardCharsets.ISO_8859_1);
            int at = bytes.indexOf(0xE0);
            if (at >= 0) reason = bytes.charAt(at + 2);
            out.release();
          }
          return reason;
        });
  }
}
