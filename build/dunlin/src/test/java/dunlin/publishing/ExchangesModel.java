package dunlin.publishing;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A model of one client: what it has sent and received, and so what the broker may send next; MQTT 5, sections 4.3,
 * 4.4, 4.6 and 4.9.
 *
 * <p>The class is long: both directions of both exchanges, and the end of a connection at any point of them, share one
 * state.
 */
final class ExchangesModel implements AutoCloseable {
  /*
   * Owner: one thread. The broker may or may not have read what the client sent just before its connection ended. So an
   * acknowledgement counts as sure only when the broker has answered two PINGREQs after it: the first answer shows that
   * it was read, the second that the read loop has finished and passed it to the store.
   */
  private static final int NOBODYS_IDENTIFIER = 60_000;
  private static final int OWN_IDENTIFIERS = 6;

  private final Random random;
  private final TestBroker broker;
  private final int level;
  private final int receiveMaximum;
  private final String name;
  private final RawClient feeder;
  private final RawClient reader;
  private final List<String> trace = new ArrayList<>();

  private RawClient client;
  private int connection;
  private int numbers;

  // Messages to the client: all that were published since its session began.
  private final List<Incoming> expected = new ArrayList<>();
  private final Map<String, Incoming> byText = new HashMap<>();
  private final Map<Integer, Incoming> holders = new HashMap<>();
  private final Map<Integer, Integer> pubrelsDue = new HashMap<>();
  private int outstanding;
  private int lastIndex;
  private boolean freshSeen;

  // Messages from the client.
  private final Map<Integer, Own> own = new LinkedHashMap<>();
  private final List<Own> published = new ArrayList<>();
  private final Map<Integer, Integer> answersDue = new HashMap<>();

  /** A message for the client. */
  private static final class Incoming {
    final int index;
    final int qos;
    final int bornOn;
    int packetId;
    int seenOn = -1;
    int activeOn = -1;
    boolean received;
    boolean released;
    boolean done;

    /** The connection on which the last acknowledgement was sent, and whether that is known to have been read. */
    int acknowledgedOn = -1;

    boolean sure;

    Incoming(int index, int qos, int bornOn) {
      this.index = index;
      this.qos = qos;
      this.bornOn = bornOn;
    }
  }

  /** A message of the client. */
  private static final class Own {
    final String text;
    final int qos;
    boolean received;
    boolean acknowledged;

    Own(String text, int qos) {
      this.text = text;
      this.qos = qos;
    }
  }

  ExchangesModel(TestBroker broker, long seed) {
    this.broker = broker;
    this.random = new Random(seed);
    this.level = random.nextBoolean() ? 5 : 4;
    this.receiveMaximum = level == 4 || random.nextInt(3) == 0 ? 65_535 : 1 + random.nextInt(5);
    this.name = "model-" + seed;
    this.feeder = RawClient.connected(broker, name + "-feeder");
    boolean durableReader = random.nextBoolean();
    this.reader = RawClient.connected(broker, name + "-reader", RawClient.sessionExpiry(durableReader ? 60 : 0));
    reader.subscribe(name + "/out", 2);
    trace.add("level " + level + ", receive maximum " + receiveMaximum + ", durable reader " + durableReader);
    this.client = connected(false, false);
    client.subscribe(name + "/in", 2);
  }

  // ------------------------------------------------------------------------------------------------------------ what the client does

  void step() {
    switch (random.nextInt(17)) {
      case 0, 1, 2 -> feed();
      case 3, 4 -> publish(1 + random.nextInt(2));
      case 5 -> repeat();
      case 6, 7 -> release();
      case 8 -> {
        trace.add("PUBREL of nothing");
        client.pubrel(NOBODYS_IDENTIFIER);
        answersDue.merge(NOBODYS_IDENTIFIER, 1, Integer::sum);
      }
      case 9, 10, 11 -> acknowledge();
      case 12 -> acknowledgeWrongly();
      case 13, 14 -> hear();
      case 15 -> sync();
      default -> reconnect();
    }
  }

  private void feed() {
    for (int i = random.nextInt(4); i >= 0; i--) {
      int qos = 1 + random.nextInt(2);
      String text = "in " + ++numbers;
      Incoming message = new Incoming(numbers, qos, connection);
      expected.add(message);
      byText.put(text, message);
      trace.add("feed " + text + " QoS " + qos);
      feeder.publish(name + "/in", qos, 1, text);
      feeder.expect(qos == 1 ? RawClient.PUBACK : RawClient.PUBREC);
      if (qos == 1) continue;
      feeder.pubrel(1);
      feeder.expect(RawClient.PUBCOMP);
    }
  }

  private void publish(int qos) {
    int packetId = 1 + random.nextInt(OWN_IDENTIFIERS);
    if (own.containsKey(packetId)) return;
    Own message = new Own("out " + ++numbers, qos);
    own.put(packetId, message);
    published.add(message);
    send(packetId, message, false);
  }

  private void send(int packetId, Own message, boolean duplicate) {
    trace.add("publish #" + packetId + " " + message.text + " QoS " + message.qos + (duplicate ? " DUP" : ""));
    client.publish(name + "/out", message.text, message.qos, packetId, duplicate);
    answersDue.merge(packetId, 1, Integer::sum);
  }

  /** Repeats a QoS 2 PUBLISH that was not released, which is allowed any number of times. */
  private void repeat() {
    for (var each : own.entrySet()) {
      if (each.getValue().qos == 2 && !each.getValue().acknowledged) {
        send(each.getKey(), each.getValue(), true);
        return;
      }
    }
  }

  private void release() {
    for (var each : own.entrySet()) if (each.getValue().received && random.nextBoolean()) pubrel(each.getKey(), each.getValue());
  }

  private void pubrel(int packetId, Own message) {
    trace.add("PUBREL #" + packetId);
    message.acknowledged = true;
    client.pubrel(packetId);
    answersDue.merge(packetId, 1, Integer::sum);
  }

  private List<Incoming> active() {
    return expected.stream().filter(each -> each.activeOn == connection && !each.done).toList();
  }

  private void acknowledge() {
    List<Incoming> active = active();
    if (!active.isEmpty()) acknowledge(active.get(random.nextInt(active.size())), level == 5 && random.nextInt(8) == 0);
  }

  private void acknowledge(Incoming message, boolean refuse) {
    int packetId = message.packetId;
    message.sure = false;
    message.acknowledgedOn = connection;
    if (message.qos == 1 || message.released) {
      trace.add((message.qos == 1 ? "PUBACK #" : "PUBCOMP #") + packetId);
      if (message.qos == 1) client.puback(packetId);
      else client.pubcomp(packetId);
      end(message);
    } else if (refuse && !message.received) {
      trace.add("PUBREC #" + packetId + " with an error");
      client.send(RawClient.PUBREC, RawClient.u16(packetId), 0x80);
      end(message);
    } else {
      trace.add("PUBREC #" + packetId);
      client.pubrec(packetId);
      message.received = true;
      pubrelsDue.merge(packetId, 1, Integer::sum);
    }
  }

  private void end(Incoming message) {
    message.done = true;
    if (message.seenOn == connection) outstanding--;
  }

  /** Sends acknowledgements of the wrong type, none of which may end an exchange. */
  private void acknowledgeWrongly() {
    List<Incoming> active = active();
    int packetId = active.isEmpty() ? NOBODYS_IDENTIFIER : active.getFirst().packetId;
    boolean twice = !active.isEmpty() && active.getFirst().qos == 2;
    trace.add("wrong acknowledgements of #" + packetId);
    if (twice) client.puback(packetId);
    if (!twice || !active.getFirst().received) client.pubcomp(packetId);
    if (twice) return;
    client.pubrec(packetId);
    pubrelsDue.merge(packetId, 1, Integer::sum);
  }

  private void hear() {
    for (Packet packet : client.untilPong()) heard(packet);
  }

  private void sync() {
    trace.add("sync");
    hear();
    hear();
    for (Incoming each : expected) each.sure |= each.acknowledgedOn == connection;
  }

  private void reconnect() {
    int how = random.nextInt(5);
    boolean clean = random.nextInt(6) == 0;
    trace.add("reconnect " + List.of("closed", "reset", "disconnected", "taken over", "closed half").get(how) + (clean ? ", clean" : ""));
    RawClient old = client;
    switch (how) {
      case 0 -> old.close();
      case 1 -> old.reset();
      case 2 -> {
        old.send(RawClient.DISCONNECT);
        old.awaitClosed();
      }
      case 4 -> old.halfClose();
      default -> {}
    }
    client = connected(clean, true);
    if (how == 3) {
      List<Packet> last = old.awaitClosed();
      if (level == 5) assertThat(last).last().extracting(Packet::reason).isEqualTo(0x8E);
    }
    old.close();
    if (!clean) {
      goOn();
      return;
    }
    expected.clear();
    byText.clear();
    holders.clear();
    own.clear();
    if (level == 4) { // a clean session ends with its connection
      client.disconnect();
      client = connected(false, false);
    }
    client.subscribe(name + "/in", 2);
  }

  private RawClient connected(boolean clean, boolean present) {
    byte[] properties =
        RawClient.properties(
            RawClient.sessionExpiry(60), receiveMaximum == 65_535 ? new byte[0] : RawClient.receiveMaximum(receiveMaximum));
    connection++;
    outstanding = 0;
    lastIndex = 0;
    freshSeen = false;
    pubrelsDue.clear();
    answersDue.clear();
    RawClient next = RawClient.connected(broker.port(), RawClient.connect(level, clean, 0, name, properties));
    assertThat(next.sessionPresent()).as("session present").isEqualTo(present && !clean);
    return next;
  }

  /** Resends unacknowledged packets in their order. */
  private void goOn() {
    for (var each : own.entrySet()) {
      if (each.getValue().received) pubrel(each.getKey(), each.getValue());
      else send(each.getKey(), each.getValue(), true);
    }
  }

  // ------------------------------------------------------------------------------------------------------------- what may come

  private void heard(Packet packet) {
    trace.add("heard " + (packet.type() == RawClient.PUBLISH ? packet.message() : packet));
    switch (packet.type()) {
      case RawClient.PUBLISH -> heardPublish(packet.message());
      case RawClient.PUBREL -> heardPubrel(packet);
      case RawClient.PUBACK, RawClient.PUBREC, RawClient.PUBCOMP -> heardAnswer(packet);
      default -> throw new AssertionError("nothing asks for " + packet);
    }
  }

  private void heardPublish(Message packet) {
    Incoming message = requireNonNull(byText.get(packet.text()), "a message that this session should not have");
    assertThat(packet.qos()).isEqualTo(message.qos);
    Incoming holder = holders.put(packet.packetId(), message);
    assertThat(holder == null || holder == message || holder.done).as("an identifier that is in flight").isTrue();
    if (message.seenOn < 0) {
      assertThat(packet.duplicate() && message.bornOn == connection).as("DUP on a first delivery").isFalse();
      assertThat(expected).filteredOn(each -> each.qos == message.qos && each.index < message.index && each.seenOn < 0)
          .as("overtaken").isEmpty();
      if (!packet.duplicate()) freshSeen = true;
    } else {
      assertThat(message.seenOn).as("sent again on one connection").isNotEqualTo(connection);
      assertThat(packet.duplicate()).as("DUP of a repeated delivery").isTrue();
      assertThat(packet.packetId()).isEqualTo(message.packetId);
      assertThat(freshSeen).as("a repeated delivery behind a first one").isFalse();
      assertThat(message.sure || message.released).as("published again although it was acknowledged").isFalse();
      message.done = false;
      message.received = false;
    }
    inOrder(message);
    message.packetId = packet.packetId();
    message.seenOn = connection;
    message.activeOn = connection;
    outstanding++;
    assertThat(outstanding).as("unacknowledged").isLessThanOrEqualTo(receiveMaximum);
  }

  private void inOrder(Incoming message) {
    assertThat(message.index).as("order on this connection").isGreaterThan(lastIndex);
    lastIndex = message.index;
  }

  private void heardPubrel(Packet packet) {
    int packetId = packet.packetId();
    boolean asked = pubrelsDue.merge(packetId, -1, Integer::sum) >= 0;
    Incoming message = holders.get(packetId);
    if (message == null || message.qos != 2 || !message.received) {
      assertThat(asked).as("PUBREL of nothing").isTrue();
      assertThat(packet.reason()).isEqualTo(level == 5 ? 0x92 : 0);
      return;
    }
    if (!asked) {
      assertThat(message.done && message.sure).as("released again although it was completed").isFalse();
      assertThat(message.activeOn).as("released again on one connection").isNotEqualTo(connection);
      inOrder(message);
    }
    message.released = true;
    if (message.activeOn == connection) return;
    message.activeOn = connection;
    message.done = false;
  }

  private void heardAnswer(Packet packet) {
    int packetId = packet.packetId();
    assertThat(answersDue.merge(packetId, -1, Integer::sum)).as("answers to one packet").isGreaterThanOrEqualTo(0);
    if (packetId == NOBODYS_IDENTIFIER) {
      assertThat(packet.type()).isEqualTo(RawClient.PUBCOMP);
      assertThat(packet.reason()).isEqualTo(level == 5 ? 0x92 : 0);
      return;
    }
    @Nullable Own message = own.get(packetId);
    if (packet.type() != RawClient.PUBCOMP) assertThat(packet.reason()).isIn(0, 0x10);
    if (packet.type() == RawClient.PUBREC) {
      if (message != null && message.qos == 2) message.received = true;
    } else if (packet.type() == RawClient.PUBACK) {
      assertThat(requireNonNull(message, "PUBACK of nothing").qos).isEqualTo(1);
      message.acknowledged = true;
      own.remove(packetId);
    } else if (message != null && message.acknowledged) {
      own.remove(packetId);
    }
  }

  // -------------------------------------------------------------------------------------------------------------- the end

  /** Completes all exchanges as a correct client; then each message must have arrived as often as its QoS allows. */
  void finish() {
    trace.add("finish");
    long deadline = System.nanoTime() + TestBroker.SOON.toNanos();
    while (!own.isEmpty() || expected.stream().anyMatch(each -> !each.done)) {
      if (System.nanoTime() > deadline) throw new AssertionError("an exchange does not end");
      for (Incoming each : active()) {
        boolean waits = each.qos == 2 && each.received && !each.released;
        if (!waits) acknowledge(each, false);
      }
      for (var each : own.entrySet()) if (each.getValue().received && !each.getValue().acknowledged) pubrel(each.getKey(), each.getValue());
      hear();
    }
    sync();
    assertThat(client.untilPong()).isEmpty();
    for (int qos = 1; qos <= 2; qos++) {
      Own last = new Own("last", qos);
      own.put(10 + qos, last);
      published.add(last);
      send(10 + qos, last, false);
    }
    List<String> arrived = new ArrayList<>();
    for (int ends = 0; ends < 2; ) {
      Message message = reader.take();
      arrived.add(message.qos() + " " + message.text());
      if (message.text().equals("last")) ends++;
    }
    for (int qos = 1; qos <= 2; qos++) assertArrived(qos, arrived);
  }

  private void assertArrived(int qos, List<String> arrived) {
    List<String> all = published.stream().filter(each -> each.qos == qos).map(each -> qos + " " + each.text).toList();
    List<String> acknowledged =
        published.stream().filter(each -> each.qos == qos && (each.acknowledged || each.received)).map(each -> qos + " " + each.text).toList();
    List<String> came = arrived.stream().filter(each -> each.startsWith(qos + " ")).toList();
    if (qos == 2) assertThat(came).as("exactly once").doesNotHaveDuplicates();
    List<String> once = came.stream().distinct().toList();
    assertThat(once).as("acknowledged").containsAll(acknowledged);
    assertThat(once).as("order of QoS %d", qos).isSubsetOf(all).isEqualTo(all.stream().filter(once::contains).toList());
  }

  @Override
  public void close() {
    client.close();
    feeder.close();
    reader.close();
  }

  @Override
  public String toString() {
    return String.join("; ", trace);
  }
}
