package dunlin.operating;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ordinary clients that together would fill a node's memory, each within its own limits: the node survives, serves
 * others, and can be restarted.
 */
class MemoryIT {
  private static final int KIB = 1_024;
  private static final int SUBSCRIBERS = 30;
  private static final int PAYLOAD = 150 * KIB;

  /** About 360 MB in total. */
  private static final int MESSAGES = 2_400;

  /** Each message goes to one subscriber, so that no memory is shared. */
  @ParameterizedTest(name = "reads: {0}, durable: {1}, QoS {2}")
  @CsvSource({"true, false, 1", "false, true, 1", "true, true, 2", "false, false, 0"})
  void memoryForUnacknowledgedMessagesIsBounded(boolean reads, boolean durable, int qos, @TempDir Path data)
      throws IOException {
    try (BrokerProcess broker = start(data)) {
      List<Socket> subscribers = new ArrayList<>();
      try (RawClient publisher = connected(broker, "publisher");
          RawClient pinged = connected(broker, "pinged");
          RawClient pings = connected(broker, "pings")) {
        pinged.subscribe("ping", 1);
        for (int i = 0; i < SUBSCRIBERS; i++) subscribers.add(subscriber(broker, i, "flood/" + i, qos, reads, durable));
        String payload = "x".repeat(PAYLOAD);
        for (int i = 0; i < MESSAGES; i++) {
          publisher.publish("flood/" + i % SUBSCRIBERS, qos, qos == 0 ? 0 : 1, payload);
          acknowledged(publisher, qos);
          if (i % 20 == 0) ping(pings, pinged, i);
        }
      } finally {
        for (Socket subscriber : subscribers) subscriber.close();
      }
      assertThat(broker.toString()).doesNotContain("OutOfMemory").doesNotContain("ERROR");
      broker.kill();
    }
    try (BrokerProcess again = start(data);
        RawClient pinged = connected(again, "pinged");
        RawClient pings = connected(again, "pings")) {
      pinged.subscribe("ping", 1);
      ping(pings, pinged, -1);
    }
  }

  /** Each may have a megabyte waiting for its socket; together that would be four times the direct memory. */
  @ParameterizedTest(name = "QoS {0}")
  @ValueSource(ints = {0, 1})
  void memoryForUnreadSocketsIsBounded(int qos, @TempDir Path data) throws IOException {
    String payload = "x".repeat(PAYLOAD);
    try (BrokerProcess broker = BrokerProcess.startWith("-Xmx256m -XX:MaxDirectMemorySize=64m", data, "dunlin.store.fsync=false");
        RawClient publisher = connected(broker, "publisher");
        RawClient slow = new RawClient(broker.port(), 16 * KIB);
        RawClient pinged = connected(broker, "pinged");
        RawClient pings = connected(broker, "pings")) {
      pinged.subscribe("ping", 1);
      slow.connect(RawClient.connect(5, true, 0, "slow", RawClient.noProperties()));
      List<Socket> others = new ArrayList<>();
      try {
        for (int i = 0; i < 256; i++) others.add(subscriber(broker, i, "flood", qos, false, false));
        slow.subscribe("flood", qos);
        for (int i = 0; i < 60; i++) {
          publisher.publish("flood", qos, qos == 0 ? 0 : 1, payload);
          acknowledged(publisher, qos);
          ping(pings, pinged, i);
        }
      } finally {
        for (Socket other : others) other.close();
      }
      publisher.publish("flood", 1, 1, "end");
      acknowledged(publisher, 1);
      if (qos == 1) assertThat(slow.before("end")).isNotEmpty().allSatisfy(message -> assertThat(message.text()).isEqualTo(payload));
      ping(pings, pinged, -1);
      assertThat(broker.toString()).doesNotContain("OutOfMemory").doesNotContain("ERROR");
    }
  }

  /** About 400 MB of incomplete packets. */
  @Test
  void memoryForIncompletePublishesIsBounded(@TempDir Path data) throws IOException {
    byte[] start = RawClient.bytes(0x30, RawClient.varint(1_000_000), RawClient.publishing(5, "t", 0, 0, ""));
    byte[] part = Arrays.copyOf(start, 990_000);
    unfinished(data, 400, socket -> {
      socket.getOutputStream().write(RawClient.connect(5, true, 0, "unfinished-" + socket.getLocalPort(), RawClient.noProperties()));
      socket.getOutputStream().write(part);
    });
  }

  /** The same before authentication. */
  @Test
  void memoryForIncompleteConnectsIsBounded(@TempDir Path data) throws IOException {
    byte[] connect = RawClient.bytes(0x10, RawClient.varint(127 * KIB), RawClient.u16(4), "MQTT".getBytes(US_ASCII), 5, 2, RawClient.u16(0));
    byte[] part = Arrays.copyOf(connect, 126 * KIB);
    unfinished(data, 3_000, socket -> socket.getOutputStream().write(part));
  }

  private interface Sending {
    void to(Socket socket) throws IOException;
  }

  /** While clients send incomplete packets, two others continue. */
  private static void unfinished(Path data, int clients, Sending sending) throws IOException {
    try (BrokerProcess broker = start(data);
        RawClient pinged = connected(broker, "pinged");
        RawClient pings = connected(broker, "pings")) {
      pinged.subscribe("ping", 1);
      List<Socket> sockets = new ArrayList<>();
      try {
        for (int i = 0; i < clients; i++) {
          Socket socket = new Socket(InetAddress.getLoopbackAddress(), broker.port());
          sockets.add(socket);
          Thread.ofVirtual().start(() -> sendAsFarAsItGoes(sending, socket));
          if (i % 20 == 0) ping(pings, pinged, i);
        }
        try (RawClient another = connected(broker, "another")) {
          ping(another, pinged, -1);
        }
      } finally {
        for (Socket socket : sockets) socket.close();
      }
      ping(pings, pinged, -2);
      assertThat(broker.toString()).doesNotContain("OutOfMemory").doesNotContain("ERROR");
    }
  }

  private static void sendAsFarAsItGoes(Sending sending, Socket socket) {
    try {
      sending.to(socket);
    } catch (IOException _) {
      // The broker has closed it, or the test is over.
    }
  }

  private static BrokerProcess start(Path data) {
    return BrokerProcess.startWith("-Xmx256m", data, "dunlin.store.fsync=false");
  }

  private static RawClient connected(BrokerProcess broker, String clientId) {
    return RawClient.connected(broker.port(), RawClient.connect(5, true, 0, clientId, RawClient.noProperties()));
  }

  private static void ping(RawClient from, RawClient to, int number) {
    assertThat(from.publishAndWait("ping", "ping " + number)).isZero();
    assertThat(to.take().text()).isEqualTo("ping " + number);
  }

  private static void acknowledged(RawClient publisher, int qos) {
    if (qos == 1) assertThat(publisher.expect(RawClient.PUBACK).reason()).isZero();
    if (qos < 2) return;
    assertThat(publisher.expect(RawClient.PUBREC).reason()).isZero();
    publisher.pubrel(1);
    publisher.expect(RawClient.PUBCOMP);
  }

  /** A client with a subscription that then sends nothing, not even acknowledgements. */
  private static Socket subscriber(BrokerProcess broker, int number, String filter, int qos, boolean reads, boolean durable)
      throws IOException {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(16 * KIB);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), broker.port()));
    byte[] properties = RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0));
    socket.getOutputStream().write(RawClient.connect(5, true, 0, "idle-" + number, properties));
    socket.getOutputStream().write(
        RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), filter, qos));
    awaitSuback(socket.getInputStream());
    if (reads) Thread.ofVirtual().start(() -> drain(socket));
    return socket;
  }

  private static void awaitSuback(InputStream in) throws IOException {
    while (true) {
      int type = in.read();
      int length = in.read();
      assertThat(length).as("length of a short packet").isBetween(0, 127);
      in.readNBytes(length);
      if (type == RawClient.SUBACK) return;
    }
  }

  private static void drain(Socket socket) {
    byte[] buffer = new byte[64 * KIB];
    try {
      while (socket.getInputStream().read(buffer) >= 0) {}
    } catch (IOException _) {
      // Closed by the test or the broker.
    }
  }
}
