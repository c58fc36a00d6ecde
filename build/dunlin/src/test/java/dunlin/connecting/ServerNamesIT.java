package dunlin.connecting;

import static dunlin.harness.SecureBroker.ROOT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.TestBroker;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import dunlin.harness.SecureBroker;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.StandardConstants;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tenants by the names by which clients call the server in their TLS handshakes. */
class ServerNamesIT {
  @TempDir Path directory;

  private SecureBroker secure;

  @BeforeEach
  void aListenerWithNames() {
    secure = new SecureBroker(directory).withCertificate();
    secure.settings.put(ROOT + "tenant-by-server-name", "mqtt.blue.example=blue, *.green.example=green");
    secure.settings.put(ROOT + "tenant", "red");
  }

  /** By the TLS that Dunlin brings on Linux, and by that of the platform. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theServerNameChoosesTheTenant(boolean byThePlatform) throws IOException {
    try (var broker = process(byThePlatform)) {
      int port = broker.port("tls");
      try (var blue = connected(port, "mqtt.blue.example");
          var shouting = connected(port, "MQTT.BLUE.Example");
          var green = connected(port, "a.b.green.example");
          var nameless = connected(port, null)) {
        for (RawClient each : List.of(blue, shouting, green, nameless)) each.subscribe("#", 0);
        blue.publish("t", 0, 0, "of blue");
        assertThat(blue.message().text()).isEqualTo("of blue");
        assertThat(shouting.message().text()).isEqualTo("of blue");
        green.publish("t", 0, 0, "of green");
        assertThat(green.message().text()).as("and not that of blue").isEqualTo("of green");
        nameless.publish("t", 0, 0, "of the listener's");
        assertThat(nameless.message().text()).isEqualTo("of the listener's");
      }
    }
  }

  /** Some fail in the handshake, the others are refused; no one gets into a tenant, not even that of the listener. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aNameThatIsNotKnownOrNoneIsRefused(boolean byThePlatform) throws IOException {
    try (var broker = process(byThePlatform)) {
      int port = broker.port("tls");
      connected(port, "mqtt.blue.example").close();
      for (String wrong : List.of("mqtt.black.example", "green.example", "mqtt.blue.example.evil", "127.0.0.1", "localhost"))
        assertThat(answer(port, wrong.getBytes(StandardCharsets.US_ASCII))).as(wrong).isEqualTo(0x87);
      byte[][] none = {
        "mqtt.blue.example\0".getBytes(StandardCharsets.US_ASCII),
        "\0.green.example".getBytes(StandardCharsets.US_ASCII),
        "\u00fc.green.example".getBytes(StandardCharsets.ISO_8859_1), // no UTF-8
        new byte[] {(byte) 0xC0, (byte) 0xAE, '.', 'g', 'r', 'e', 'e', 'n'}, // a dot in two bytes
        ("x".repeat(300) + ".green.example").getBytes(StandardCharsets.US_ASCII),
        "..green.example".getBytes(StandardCharsets.US_ASCII),
        new byte[0],
      };
      for (byte[] each : none) assertThat(answer(port, each)).as(new String(each, StandardCharsets.ISO_8859_1)).isIn(0x87, -1);
      connected(port, "mqtt.blue.example").close();
    }
  }

  @Test
  void wrongNamesInTheSettingsAreRefusedBeforeAnythingStarts() {
    for (String wrong : new String[] {"mqtt.blue.example", "mqtt.blue.example=no/tenant", "a.*.example=blue", "127.0.0.1=blue", "a.example=blue,A.example=green"}) {
      secure.settings.put(ROOT + "tenant-by-server-name", wrong);
      assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), secure.settings).close())
          .as(wrong)
          .isInstanceOf(SettingException.class)
          .hasMessageContaining("dunlin.listeners.tls.tenant-by-server-name");
    }
  }

  private BrokerProcess process(boolean byThePlatform) {
    String[] all = secure.settings.entrySet().stream().map(each -> each.getKey() + '=' + each.getValue()).toArray(String[]::new);
    return BrokerProcess.startWith("-Xmx256m -Dio.netty.handler.ssl.noOpenSsl=" + byThePlatform, directory.resolve("data"), all).awaitStarted(TestBroker.SOON);
  }

  private RawClient connected(int port, String name) {
    RawClient client = new RawClient(handshaken(port, name == null ? null : name.getBytes(StandardCharsets.US_ASCII)));
    client.connect(RawClient.connect(5, true, 0, "", RawClient.noProperties()));
    return client;
  }

  /** The reason code of CONNACK; -1 if there is none, since the handshake has failed. */
  private int answer(int port, byte[] name) throws IOException {
    try (SSLSocket socket = handshaken(port, name)) {
      socket.getOutputStream().write(RawClient.connect(5, true, 0, "", RawClient.noProperties()));
      byte[] head = socket.getInputStream().readNBytes(4);
      return head.length < 4 ? -1 : head[3] & 0xFF;
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException | UncheckedIOException _) {
      return -1;
    }
  }

  private SSLSocket handshaken(int port, byte[] name) {
    try {
      // A context of its own: one that resumes a session would send the name of that session again.
      SSLSocket socket = (SSLSocket) secure.authority.context().getSocketFactory().createSocket("127.0.0.1", port);
      socket.setSoTimeout(60_000);
      if (name != null) {
        SSLParameters parameters = socket.getSSLParameters();
        // Not SNIHostName, which refuses what is no name.
        parameters.setServerNames(List.of(new SNIServerName(StandardConstants.SNI_HOST_NAME, name) {}));
        socket.setSSLParameters(parameters);
      }
      socket.startHandshake();
      return socket;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
