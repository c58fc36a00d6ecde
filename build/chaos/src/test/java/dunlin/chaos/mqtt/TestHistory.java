package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.check.Drops;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.MessageId;
import dunlin.chaos.mqtt.check.MqttChecker;
import dunlin.chaos.mqtt.check.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Builds a history for a test: each call adds an event a millisecond after the previous one. */
final class TestHistory {
  static final long SECOND = 1_000_000_000L;
  static final int FOREVER = 86_400;

  private final List<Event> events = new ArrayList<>();
  private final Map<String, Integer> connections = new HashMap<>();
  private final Map<String, Integer> expiry = new HashMap<>();
  private final Map<String, Integer> nodes = new HashMap<>();
  private final Map<String, Integer> levels = new HashMap<>();
  private final Map<MessageId, Event.Published> published = new HashMap<>();
  private long now;
  private int packetId;

  private long tick() {
    return now += 1_000_000;
  }

  private int connection(String client) {
    return connections.getOrDefault(client, 0);
  }

  List<Event> events() {
    return List.copyOf(events);
  }

  List<Violation> check() {
    return check(Drops.NONE);
  }

  List<Violation> check(Drops drops) {
    return MqttChecker.check(events, drops);
  }

  TestHistory later(long seconds) {
    now += seconds * SECOND;
    return this;
  }

  TestHistory deed(Deed deed) {
    return deed(deed, 0);
  }

  TestHistory deed(Deed deed, int node) {
    events.add(new Event.Broker(tick(), deed, node, ""));
    return this;
  }

  TestHistory drained() {
    return deed(Deed.DRAINED);
  }

  /** Connects a client to another node than the first one, from now on. */
  TestHistory at(String client, int node) {
    nodes.put(client, node);
    return this;
  }

  /** Has a client use MQTT 3.1.1, from now on. */
  TestHistory mqtt3(String client) {
    levels.put(client, 4);
    return this;
  }

  /** @param expirySeconds 0 for Clean Start and a session that ends with its connection */
  TestHistory connect(String client, int expirySeconds, boolean present) {
    return connected(client, expirySeconds, present, tick());
  }

  /** CONNACK comes so long after CONNECT. */
  TestHistory connectedLate(String client, int expirySeconds, boolean present, int seconds) {
    return connected(client, expirySeconds, present, now - seconds * SECOND);
  }

  private TestHistory connected(String client, int expirySeconds, boolean present, long asked) {
    expiry.put(client, expirySeconds);
    int connection = connections.merge(client, 1, Integer::sum);
    events.add(new Event.Connected(tick(), client, connection, nodes.getOrDefault(client, 1), levels.getOrDefault(client, 5), asked, expirySeconds == 0, expirySeconds, present));
    return this;
  }

  TestHistory connectWithWill(String client, int expirySeconds, boolean present, int delaySeconds) {
    events.add(new Event.WillSet(tick(), client, connection(client) + 1, "w/" + client, delaySeconds));
    return connect(client, expirySeconds, present);
  }

  TestHistory connectInVain(String client) {
    long asked = tick();
    events.add(new Event.ConnectFailed(tick(), client, connections.merge(client, 1, Integer::sum), asked, expiry.getOrDefault(client, 0) == 0, -1));
    return this;
  }

  TestHistory end(String client, End how) {
    return end(client, connection(client), how, -1);
  }

  TestHistory end(String client, int connection, End how, int reason) {
    events.add(new Event.Ended(tick(), client, connection, how, reason));
    return this;
  }

  /** The client notices the end of its connection, and began to send DISCONNECT some milliseconds before. */
  TestHistory disconnected(String client, int millisBefore) {
    return disconnects(client, End.DISCONNECTED, millisBefore);
  }

  /** The client closes the connection some milliseconds after it has sent DISCONNECT. */
  TestHistory abandonedWithDisconnect(String client, int millisBefore) {
    return disconnects(client, End.ABANDONED, millisBefore);
  }

  private TestHistory disconnects(String client, End how, int millisBefore) {
    long ended = tick();
    events.add(new Event.Ended(ended, client, connection(client), how, -1, ended - millisBefore * 1_000_000L));
    return this;
  }

  TestHistory subscribe(String client, String filter, int qos) {
    long asked = tick();
    events.add(new Event.Subscribed(tick(), client, connection(client), asked, filter, qos));
    return this;
  }

  /** SUBSCRIBE without SUBACK. */
  TestHistory askToSubscribe(String client, String filter) {
    events.add(new Event.SubscribeAsked(tick(), client, filter));
    return this;
  }

  TestHistory unsubscribe(String client, String filter) {
    events.add(new Event.UnsubscribeAsked(tick(), client, filter));
    events.add(new Event.Unsubscribed(tick(), client, connection(client), filter));
    return this;
  }

  TestHistory publish(String client, int number, String topic, int qos) {
    return publish(client, number, topic, qos, false, false, -1);
  }

  TestHistory publish(String client, int number, String topic, int qos, boolean retain, boolean delete, int expirySeconds) {
    var id = new MessageId(client, number);
    var event = new Event.Published(tick(), client, connection(client), id, topic, qos, retain, delete, expirySeconds, false);
    published.put(id, event);
    events.add(event);
    return this;
  }

  TestHistory again(String client, int number) {
    var first = Objects.requireNonNull(published.get(new MessageId(client, number)));
    events.add(
        new Event.Published(
            tick(), client, connection(client), first.id(), first.topic(), first.qos(), first.retain(), first.delete(), first.expirySeconds(), true));
    return this;
  }

  TestHistory acknowledge(String client, int number) {
    return acknowledge(client, number, 0);
  }

  TestHistory acknowledge(String client, int number, int code) {
    events.add(new Event.Acknowledged(tick(), client, new MessageId(client, number), code));
    return this;
  }

  /** Published, acknowledged. */
  TestHistory safe(String client, int number, String topic, int qos) {
    return publish(client, number, topic, qos).acknowledge(client, number);
  }

  TestHistory value(String client, int number, String topic) {
    return publish(client, number, topic, 1, true, false, -1).acknowledge(client, number);
  }

  TestHistory receive(String client, String publisher, int number, String topic, int qos) {
    return receive(client, publisher, number, topic, qos, false, false);
  }

  TestHistory receive(String client, String publisher, int number, String topic, int qos, boolean dup, boolean retain) {
    events.add(
        new Event.Received(
            tick(), client, connection(client), new MessageId(publisher, number), topic, qos, dup, retain, false, ++packetId, false, -1));
    if (qos > 0) events.add(new Event.Answered(tick(), client, connection(client), new MessageId(publisher, number)));
    return this;
  }

  /** Comes over an earlier connection. */
  TestHistory receiveBehind(String client, int connection, String publisher, int number, int qos) {
    events.add(new Event.ReceivedBehind(tick(), client, connection, new MessageId(publisher, number), qos));
    return this;
  }

  /** Comes, and is not answered. */
  TestHistory hold(String client, String publisher, int number, String topic, int qos) {
    receive(client, publisher, number, topic, qos);
    events.removeLast();
    return this;
  }

  /** Packets that have come before come with DUP; the history's first packet has identifier 1, the next one 2, and so on. */
  TestHistory receiveAgain(String client, int... packetIds) {
    for (int id : packetIds) {
      var first = events.stream().filter(each -> each instanceof Event.Received it && it.client().equals(client) && it.packetId() == id).findFirst();
      var it = (Event.Received) first.orElseThrow();
      events.add(
          new Event.Received(
              tick(), client, connection(client), it.id(), it.topic(), it.qos(), true, it.retain(), it.delete(), id, it.repeated(), it.expirySeconds()));
    }
    return this;
  }

  /** A bit of everything, as a broker does it that keeps all promises. */
  static TestHistory good() {
    var history = new TestHistory();
    history.connect("sub", FOREVER, false).subscribe("sub", "d/#", 2).connect("on", 0, false).subscribe("on", "d/#", 1);
    history.connect("watcher", FOREVER, false).subscribe("watcher", "w/#", 2);
    history.connect("m1", FOREVER, false).subscribe("m1", "$share/g/s/#", 1).connect("m2", FOREVER, false).subscribe("m2", "$share/g/s/#", 1);
    history.connect("switch", 0, false).subscribe("switch", "u/#", 1).unsubscribe("switch", "u/#");
    history.connect("pub", FOREVER, false);
    history.connect("keeper", FOREVER, false).value("keeper", 1, "v/1").value("keeper", 2, "v/1");
    history.deed(Deed.STRUCK).deed(Deed.CUT, 2);
    history.connect("asks", 0, false).subscribe("asks", "v/#", 1).receive("asks", "keeper", 2, "v/1", 1, false, true).end("asks", End.DISCONNECTED);
    for (int n = 1; n <= 8; n++) {
      int qos = n == 3 || n >= 5 ? 2 : 1;
      if (n == 2) history.connect("joins", 0, false).subscribe("joins", "d/#", 1);
      if (n == 4) history.deed(Deed.MENDED, 2).deed(Deed.HEALED).later(10);
      history.safe("pub", n, "d/1", qos).receive("sub", "pub", n, "d/1", qos).receive("on", "pub", n, "d/1", 1);
      if (n >= 2) history.receive("joins", "pub", n, "d/1", 1);
    }
    for (int n = 9; n <= 12; n++) history.safe("pub", n, "s/1", 1).receive(n % 2 == 0 ? "m1" : "m2", "pub", n, "s/1", 1);
    history.end("sub", End.DISCONNECTED).later(1).connect("sub", FOREVER, true);
    history.connect("sub", FOREVER, true).end("sub", 2, End.TAKEN_OVER, 0x8E);
    history.safe("pub", 13, "d/1", 1).receive("sub", "pub", 13, "d/1", 1).receive("on", "pub", 13, "d/1", 1).receive("joins", "pub", 13, "d/1", 1);
    history.connectWithWill("will", FOREVER, false, 0).end("will", End.ABANDONED).receive("watcher", "will", 1, "w/will", 2).later(5);
    history.connectWithWill("late", FOREVER, false, 2).end("late", End.ABANDONED).later(2).receive("watcher", "late", 1, "w/late", 2);
    history.connectWithWill("polite", FOREVER, false, 0).end("polite", End.DISCONNECTED).later(5);
    history.connectWithWill("quick", FOREVER, false, 5).end("quick", End.ABANDONED).connect("quick", FOREVER, true).later(10);
    history.connect("writer", FOREVER, false).value("writer", 1, "r/1").value("writer", 2, "r/1");
    history.connect("new", 0, false).subscribe("new", "r/#", 1).receive("new", "writer", 2, "r/1", 1, false, true).end("new", End.DISCONNECTED);
    history.connect("hasty", 0, false).receive("hasty", "writer", 2, "r/1", 1, false, true).end("hasty", End.BY_BROKER);
    return history.later(60).drained();
  }
}
