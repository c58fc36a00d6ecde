package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import java.util.HexFormat;
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

  @Test
  void aConnectIsWantedUntilItsClientIsRefused() {
    open.sessions.connectGate = new CompletableFuture<>();
    var channel = open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));
    var wanted = open.sessions.wanted.getFirst();
    assertThat(wanted.getAsBoolean()).isTrue();

    open.on(
        0,
        () -> {
          Objects.requireNonNull(channel.pipeline().get(Connection.class)).silent();
          return true;
        });

    assertThat(wanted.getAsBoolean()).isFalse();
    open.sessions.connectGate.completeExceptionally(new IllegalStateException("its client has given up"));
    await().until(() -> !open.on(0, channel::isOpen));
    assertThat(open.sessions.disconnected).as("there is no session to leave").isEmpty();
  }

  @Test
  void aClientThatHasItsSessionWaitsNoLonger() {
    open.client(HexFormat.of().parseHex("100e" + "00044d515454" + "05" + "00" + "0001" + "00" + "000163"));

    assertThat(open.sessions.wanted.getFirst().getAsBoolean()).isFalse();
  }
}
