package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.inbox.WithdrawnException;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A CONNECT that the session tier does not answer. */
class GivenUpConnectTest {
  private final OpenFrontend open = new OpenFrontend(1);

  @AfterEach
  void close() {
    open.close();
  }

  /** A client that was refused since it waited in vain. */
  private EmbeddedChannel refused() {
    open.sessions.connectGate = new CompletableFuture<>();
    var channel = open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));
    assertThat(open.sessions.wanted.getFirst().getAsBoolean()).isTrue();
    open.on(
        0,
        () -> {
          Objects.requireNonNull(channel.pipeline().get(Connection.class)).silent();
          return true;
        });
    return channel;
  }

  private double storeFailures() {
    return open.meters.get("dunlin.frontend.store-failures").counter().count();
  }

  @Test
  void aConnectIsWantedUntilItsClientIsRefused() {
    var channel = refused();

    assertThat(open.sessions.wanted.getFirst().getAsBoolean()).isFalse();
    open.sessions.connectGate.completeExceptionally(new WithdrawnException("its client has given up"));
    await().until(() -> !open.on(0, channel::isOpen));
    assertThat(open.on(0, this::storeFailures)).as("no store has failed").isZero();
  }

  @Test
  void aConnectIsWantedUntilItsClientHasGone() {
    open.sessions.connectGate = new CompletableFuture<>();
    var channel = open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));
    assertThat(open.sessions.wanted.getFirst().getAsBoolean()).isTrue();

    open.on(0, channel::close);

    await().until(() -> !open.on(0, channel::isOpen));
    assertThat(open.sessions.wanted.getFirst().getAsBoolean()).isFalse();
  }

  @Test
  void theSessionThatIsOpenedForARefusedClientIsLeftOnce() {
    var channel = refused();

    open.sessions.connectGate.complete(null);

    await().until(() -> !open.on(0, channel::isOpen));
    await().until(() -> !open.sessions.disconnected.isEmpty());
    for (int i = 0; i < 2; i++) open.on(0, () -> true); // what leaves a session runs behind what closes its connection
    assertThat(open.on(0, () -> List.copyOf(open.sessions.disconnected))).containsExactly(1L);
  }

  /** As in an outage: clients wait for less time than calls. */
  @Test
  void aStoreThatFailsOnceTheClientIsRefusedIsCounted() {
    var channel = refused();

    open.sessions.connectGate.completeExceptionally(new IllegalStateException("it is unknown whether the session is open"));

    await().until(() -> open.on(0, this::storeFailures) == 1);
    await().until(() -> !open.on(0, channel::isOpen));
  }

  @Test
  void aStoreThatFailsWhileTheClientWaitsIsCounted() {
    open.sessions.connectGate = CompletableFuture.failedFuture(new IllegalStateException("the disk is full"));
    open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));

    await().until(() -> open.on(0, this::storeFailures) == 1);
  }

  @Test
  void aClientThatHasItsSessionWaitsNoLonger() {
    open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));

    assertThat(open.sessions.wanted.getFirst().getAsBoolean()).isFalse();
  }
}
