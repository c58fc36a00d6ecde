package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.TestBroker;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Attacks that have broken other brokers, against a complete broker; docs/security.md lists them all. */
class AttackIT {
  private static final int KIB = 1_024;
  private static final int CONNECTIONS = 3_000;

  /** Less than the sum of what one connection in a hundred announces. */
  private static final long GROWTH_MAX_KIB = 64 * KIB;

  /**
   * Connections that announce a large packet and send one byte of it. Half of them announce more than any packet may
   * have, and are closed at their headers; half announce the most that a CONNECT may have, and are waited for. The
   * broker has 64 MB of heap and 32 MB of buffers.
   */
  @Test
  void announcedBytesUseNoMemory(@TempDir Path data) throws IOException {
    try (BrokerProcess broker =
        BrokerProcess.startWith(
            "-Xmx64m -XX:MaxDirectMemorySize=32m", data, "dunlin.store.memory=8MiB", "dunlin.mqtt.connect-timeout=60s")) {
      alive(broker);
      long before = broker.residentKib();
      List<Socket> sockets = new ArrayList<>();
      try {
        for (int i = 0; i < CONNECTIONS; i++) {
          Socket socket = new Socket(InetAddress.getLoopbackAddress(), broker.port());
          sockets.add(socket);
          byte[] length = i % 2 == 0 ? new byte[] {-1, -1, -1, 0x7F} : new byte[] {-1, -1, 6};
          socket.getOutputStream().write(RawClient.bytes(0x10, length, 0));
        }
        for (int i = 0; i < CONNECTIONS; i += 2) {
          sockets.get(i).setSoTimeout(60_000);
          assertThat(sockets.get(i).getInputStream().read()).as("connection %d is closed", i).isNegative();
        }
        alive(broker);
        assertThat(broker.residentKib() - before).as("KiB more for %d connections", CONNECTIONS).isLessThan(GROWTH_MAX_KIB);
      } finally {
        for (Socket socket : sockets) socket.close();
      }
      alive(broker);
      assertThat(broker.toString()).doesNotContain("OutOfMemory").doesNotContain("ERROR");
    }
  }

  /** As in CVE-2026-44248: 280 KB of user properties in slices of 1,400 bytes. */
  @Test
  void aConnectOfManyPropertiesIsRefusedAtItsHeaderOrAtTheFirstTooMany(@TempDir Path data) {
    byte[] property = RawClient.bytes(0x26, "k", "v");
    byte[] block = new byte[280_000 / property.length * property.length];
    for (int i = 0; i < block.length; i++) block[i] = property[i % property.length];
    byte[] connect = RawClient.connect(5, 2, 60, RawClient.bytes(RawClient.varint(block.length), block), "attacker");
    for (String limit : List.of("1KiB", "1MiB")) {
      try (TestBroker broker =
              TestBroker.on(data, Map.of("dunlin.mqtt.connect-packet-max", limit, "dunlin.store.fsync", "false"));
          Socket socket = new Socket(InetAddress.getLoopbackAddress(), broker.port())) {
        socket.setSoTimeout(60_000);
        int sent = 0;
        try {
          for (; sent < connect.length; sent += 1_400) {
            socket.getOutputStream().write(connect, sent, Math.min(1_400, connect.length - sent));
          }
          while (socket.getInputStream().read() >= 0) {}
        } catch (IOException _) {
          // Closed while bytes of ours were unread.
        }
        assertThat(broker.frontend().connectionCount()).isLessThanOrEqualTo(1);
        try (RawClient witness = RawClient.connected(broker, "witness")) {
          witness.ping();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Management reads objects from its connection. Those of classes that it does not need are refused before they are made. */
  @Test
  void managementReadsNoObjectsButItsOwn(@TempDir Path data) throws JMException {
    var memory = new ObjectName("java.lang:type=Memory");
    try (BrokerProcess broker = BrokerProcess.start(data, "java.rmi.server.hostname=127.0.0.1")) {
      assertThat(broker.hasBean("Frontend")).isTrue();
      assertThat(broker.<Object>askByJmx(beans -> beans.getAttribute(memory, "HeapMemoryUsage"))).isInstanceOf(CompositeData.class);
      assertThatThrownBy(
              () -> broker.askByJmx(beans -> beans.invoke(memory, "gc", new Object[] {Level.INFO}, new String[] {Level.class.getName()})))
          .hasStackTraceContaining("REJECTED");
      alive(broker);
    }
  }

  /** Each SUBSCRIBE begins to read all retained messages again, page by page; in between, the only loop serves others. */
  @Test
  void scansOfRetainedMessagesHoldUpNoOtherClient(@TempDir Path data) throws Exception {
    int retained = 4_000;
    List<String> filters = List.of("#", "+/#", "+/+/#", "+/+/+", "scan/#", "scan/+/#", "scan/+/x", "+/+/x", "scan/+/+", "+/+/+/#");
    var over = new AtomicBoolean();
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.lanes", "1"));
        RawClient witness = RawClient.connected(broker, "witness");
        RawClient attacker = RawClient.connected(broker, "attacker");
        var load = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 1; i <= retained; i++) witness.publish("scan/" + i + "/x", "r", 1, i, false, true);
      witness.next(retained, RawClient.PUBACK);
      var scanned =
          load.submit(
              () -> {
                int seen = 0;
                while (!over.get()) {
                  for (String filter : filters) attacker.send(RawClient.SUBSCRIBE, RawClient.u16(1), RawClient.properties(), filter, 0);
                  seen += attacker.untilPong().size();
                }
                return seen;
              });
      try {
        witness.subscribe("witness", 1);
        for (int i = 0; i < 500; i++) {
          assertThat(witness.publishAndWait("witness", "exchange " + i)).isZero();
          assertThat(witness.take().text()).isEqualTo("exchange " + i);
        }
      } finally {
        over.set(true);
      }
      assertThat(scanned.get(1, TimeUnit.MINUTES)).isGreaterThan(retained);
    }
  }

  @Test
  void retainedMessagesAreBoundedInNumber(@TempDir Path data) {
    int most = 100;
    try (TestBroker broker =
            TestBroker.on(data, Map.of("dunlin.retain.messages-max", Integer.toString(most), "dunlin.store.fsync", "false"));
        RawClient client = RawClient.connected(broker, "flood")) {
      int stored = 0;
      for (int i = 0; i < 3 * most; i++) {
        client.send(RawClient.PUBLISH | 2 | 1, "flood/" + i, RawClient.u16(1 + i), RawClient.noProperties(), new byte[] {'x'});
        int reason = client.expect(RawClient.PUBACK).reason();
        if (reason < 0x80) stored++;
        else assertThat(reason).as("message %d", i).isEqualTo(0x97);
      }
      assertThat(stored).isEqualTo(most);
    }
  }

  @Test
  void retainedMessagesAreBoundedInBytes(@TempDir Path data) {
    var settings = Map.of("dunlin.retain.topic-bytes-max", "102KiB", "dunlin.retain.bytes-max", "1MiB", "dunlin.store.fsync", "false");
    try (TestBroker broker = TestBroker.on(data, settings); RawClient client = RawClient.connected(broker, "flood")) {
      var topics = IntStream.range(0, 300).mapToObj(i -> retain(client, 1 + i, i + "/" + "t".repeat(1000), "x")).toList();
      assertThat(topics).containsOnly(0, 0x97).isSorted();
      assertThat(Collections.frequency(topics, 0)).as("topics of a kilobyte in 102").isBetween(90, 104);

      var messages = IntStream.range(0, 10).mapToObj(i -> retain(client, 1 + i, i + "/" + "t".repeat(1000), "x".repeat(200_000))).toList();
      assertThat(messages).containsOnly(0, 0x97).isSorted();
      assertThat(Collections.frequency(messages, 0)).as("messages of 200 kilobytes in 1,024, topics included").isBetween(3, 4);
      assertThat(retain(client, 1, "0/" + "t".repeat(1000), "smaller")).isZero();
      assertThat(retain(client, 2, "0/" + "t".repeat(1000), "")).isZero();
    }
  }

  /** Returns the reason code; 0 for any success. */
  private static int retain(RawClient client, int packetId, String topic, String payload) {
    client.send(RawClient.PUBLISH | 2 | 1, topic, RawClient.u16(packetId), RawClient.noProperties(), payload.getBytes(StandardCharsets.UTF_8));
    int reason = client.expect(RawClient.PUBACK).reason();
    return reason < 0x80 ? 0 : reason;
  }

  @Test
  void storedFilesAreAccessibleToTheBrokersUserOnly(@TempDir Path parent) throws IOException {
    Path data = parent.resolve("data");
    try (TestBroker broker = TestBroker.on(data); RawClient client = RawClient.connected(broker, "durable", RawClient.sessionExpiry(60))) {
      client.subscribe("t", 1);
      client.publish("t", 1, 1, "secret");
      client.take();
    }
    Set<PosixFilePermission> owner =
        EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);
    assertThat(Files.getPosixFilePermissions(data)).isEqualTo(owner);
    try (Stream<Path> entries = Files.list(data)) {
      // Only the owner may enter these, so what is inside need not be checked.
      assertThat(entries).hasSizeGreaterThan(3).allSatisfy(entry -> assertThat(owner).containsAll(Files.getPosixFilePermissions(entry)));
    }
  }

  private static void alive(BrokerProcess broker) {
    try (RawClient client = new RawClient(broker.port())) {
      client.connect(RawClient.connect(5, true, 0, "witness", RawClient.noProperties()));
      client.ping();
    }
  }
}
