package dunlin.connecting;

import static dunlin.harness.SecureBroker.ROOT;
import static dunlin.harness.SecureBroker.awaitCount;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.RawClient;
import dunlin.harness.SecureBroker;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.management.JMException;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** More TLS handshakes at once than there may be. */
class HandshakesIT {
  private static final String REFUSED = "dunlin.listener.refused,listener=tls,reason=tls-handshakes";
  private static final int PER_ADDRESS = 4;
  private static final int STORM = 40;

  @TempDir Path directory;

  private SecureBroker secure;

  @BeforeEach
  void aListenerWithBounds() {
    secure = new SecureBroker(directory).withCertificate();
    secure.settings.put(ROOT + "tls.handshake-timeout", "5m");
    secure.settings.put("dunlin.tls.handshakes-per-address-max", String.valueOf(PER_ADDRESS));
    secure.settings.put("dunlin.tls.threads", "1");
  }

  @Test
  void aStormOfOneAddressHoldsUpNeitherMessagesNorHandshakesOfOthers() throws IOException {
    List<Socket> storm = new ArrayList<>();
    try (var broker = secure.start();
        var subscriber = client(broker, "127.0.0.3", "subscriber")) {
      subscriber.subscribe("topic", 1);
      byte[] hello = clientHello();
      for (int i = 0; i < STORM; i++) {
        storm.add(plain(broker, "127.0.0.2"));
        storm.getLast().getOutputStream().write(hello); // and never the rest of the handshake
      }
      awaitCount(broker, REFUSED, STORM - PER_ADDRESS);
      assertThat(handshakes(broker)).isEqualTo(PER_ADDRESS);

      try (var publisher = client(broker, "127.0.0.4", "publisher")) {
        publisher.publish("topic", 0, 0, "in spite of it");
        assertThat(subscriber.message().text()).isEqualTo("in spite of it");
      }
      assertThat(handshakes(broker)).as("the storm still has its own").isEqualTo(PER_ADDRESS);

      for (Socket each : storm) each.close();
      await().atMost(TestBroker.SOON).until(() -> handshakes(broker) == 0);
      client(broker, "127.0.0.2", "later").close();
      awaitCount(broker, REFUSED, STORM - PER_ADDRESS);
    }
  }

  @Test
  void thereIsABoundForAllAddressesTogether() throws IOException {
    secure.settings.put("dunlin.tls.handshakes-max", "2");
    try (var broker = secure.start();
        var one = plain(broker, "127.0.0.2");
        var other = plain(broker, "127.0.0.3");
        var third = plain(broker, "127.0.0.4")) {
      byte[] hello = clientHello();
      one.getOutputStream().write(hello, 0, 6); // the head of a record is a beginning
      other.getOutputStream().write(hello);
      await().atMost(TestBroker.SOON).until(() -> handshakes(broker) == 2);
      third.getOutputStream().write(hello);
      awaitCount(broker, REFUSED, 1);
      assertThat(third.getInputStream().read()).as("closed without a word").isNegative();
    }
  }

  @Test
  void aConnectionThatSaysNothingIsNoHandshake() throws IOException {
    secure.settings.put("dunlin.tls.handshakes-max", "1");
    try (var broker = secure.start(); var _ = plain(broker, "127.0.0.2"); var _ = plain(broker, "127.0.0.2")) {
      client(broker, "127.0.0.3", "client").close();
      await().atMost(TestBroker.SOON).until(() -> handshakes(broker) == 0);
      client(broker, "127.0.0.2", "another").close();
    }
  }

  private static Socket plain(TestBroker broker, String from) throws IOException {
    Socket socket = new Socket("127.0.0.1", broker.node().port("tls"), InetAddress.ofLiteral(from), 0);
    socket.setSoTimeout(60_000);
    return socket;
  }

  private RawClient client(TestBroker broker, String from, String clientId) throws IOException {
    var factory = secure.authority.context().getSocketFactory();
    SSLSocket socket = (SSLSocket) factory.createSocket("127.0.0.1", broker.node().port("tls"), InetAddress.ofLiteral(from), 0);
    socket.startHandshake();
    RawClient client = new RawClient(socket);
    client.connect(RawClient.connect(5, true, 0, clientId, RawClient.noProperties()));
    return client;
  }

  /** What a client sends first. */
  private byte[] clientHello() throws SSLException {
    SSLEngine engine = secure.authority.context().createSSLEngine();
    engine.setUseClientMode(true);
    engine.beginHandshake();
    ByteBuffer bytes = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
    engine.wrap(ByteBuffer.allocate(0), bytes);
    byte[] hello = new byte[bytes.flip().remaining()];
    bytes.get(hello);
    return hello;
  }

  private static int handshakes(TestBroker broker) {
    try {
      return ((Number) SecureBroker.meter(broker, "dunlin.tls.handshakes", "Value")).intValue();
    } catch (JMException e) {
      throw new AssertionError(e);
    }
  }
}
