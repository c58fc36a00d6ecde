package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.MessageId;
import dunlin.chaos.mqtt.check.Packet.Will;
import dunlin.chaos.mqtt.check.Packet;
import dunlin.chaos.mqtt.check.Session;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * One client identifier with its session, over any number of connections, one after the other. All that it does and
 * sees is recorded in the {@link Journal}. It follows the specification to the letter: unacknowledged messages are
 * resent with DUP and the same packet identifier, in order, if the broker has kept the session, and forgotten
 * otherwise.
 */
public final class MqttClient implements AutoCloseable {
  /*
   * Owner: one thread calls the public methods; each connection has a virtual thread that reads and answers, and one
   * that pings. The monitor guards the state of the session, a connection's output has its own, and nothing is written while the state
   * is locked. A superseded connection is read to its end, and its packets are ignored.
   * Bounds: `window` unacknowledged publishes; the topics that it has seen, of which there are few.
   * Failure: a call on a connection that has ended answers false; so does one that is not answered within ANSWER_MAX.
   */
  private static final Duration ANSWER_MAX = Duration.ofMinutes(1);
  /** How often a connection is tried, so that its client notices what was lost: that the broker has reset it. */
  private static final Duration PING_PAUSE = Duration.ofSeconds(10);

  /** How a client answers messages of QoS 1 and 2. */
  public record Taking(boolean reads, boolean answers, Duration pause) {
    public static final Taking AT_ONCE = new Taking(true, true, Duration.ZERO);
    public static final Taking NEVER = new Taking(true, false, Duration.ZERO);
    public static final Taking DEAF = new Taking(false, false, Duration.ZERO);

    public static Taking slowly(Duration pause) {
      return new Taking(true, true, pause);
    }
  }

  /** @param expirySeconds 0 for a session that ends with its connection; with MQTT 3.1.1 any other value means Clean Session 0 */
  public record Profile(String id, int level, long expirySeconds, int receiveMaximum, int window) {}

  private record Outgoing(MessageId id, Packet.Publish publish, boolean delete, boolean received) {}

  private final Journal journal;
  private final Entrance entrance;
  private final Profile profile;
  private final Map<Integer, Outgoing> outgoing = new LinkedHashMap<>();
  private final Set<Integer> incoming = new HashSet<>();
  private final Set<String> seen = ConcurrentHashMap.newKeySet();
  private volatile Taking taking = Taking.AT_ONCE;
  private @Nullable Connection current;
  private int connections;
  private long published;
  private int lastPacketId;
  /** When the client began to wait for a success, over all attempts; 0 while it does not wait. */
  private long connectSince;
  private long subscribeSince;
  private long publishSince;

  /** @param entrance chooses a broker for each connection */
  public MqttClient(Journal journal, Entrance entrance, Profile profile) {
    this.journal = journal;
    this.entrance = entrance;
    this.profile = profile;
  }

  public String id() {
    return profile.id;
  }

  /** Whether its session ends with its connection. */
  public boolean online() {
    return profile.expirySeconds == 0;
  }

  /** The topics of received messages; the owner clears it. */
  public Set<String> seen() {
    return seen;
  }

  public void take(Taking how) {
    taking = how;
  }

  public synchronized boolean connected() {
    return current != null;
  }

  public synchronized int unacknowledged() {
    return outgoing.size();
  }

  /** Opens a connection; returns whether CONNACK says that it was successful. */
  public boolean connect(boolean clean) {
    return connect(clean, Optional.empty(), 0);
  }

  public boolean connectWithWill(boolean clean, String topic, long delaySeconds) {
    return connect(clean, Optional.of(topic), delaySeconds);
  }

  /** Opens another connection, even if there is one; a will has the number of its connection. */
  private boolean connect(boolean clean, Optional<String> willTopic, long delaySeconds) {
    supersede();
    if (connectSince == 0) connectSince = System.nanoTime();
    var found = entrance.next();
    if (found.isEmpty()) return false;
    var entry = found.get();
    var socket = new Socket();
    Connection connection;
    try {
      socket.setTcpNoDelay(true);
      socket.connect(entry.address(), (int) entry.connectMax().toMillis());
      connection = new Connection(++connections, entry.node(), socket);
    } catch (IOException e) {
      closeQuietly(socket);
      return false;
    }
    boolean really = clean || profile.expirySeconds == 0;
    var will = willTopic.map(topic -> new Will(topic, profile.id + " " + connection.number, 2, false, delaySeconds));
    willTopic.ifPresent(
        topic -> journal.add(new Event.WillSet(System.nanoTime(), profile.id, connection.number, topic, delaySeconds)));
    long asked = System.nanoTime();
    int reason = -1;
    try {
      socket.setSoTimeout((int) ANSWER_MAX.toMillis());
      connection.write(Packet.connect(profile.level, profile.id, really, profile.expirySeconds, profile.receiveMaximum, will));
      var connack = Packet.read(profile.level, connection.in);
      reason = connack.reason();
      if (reason == 0) {
        socket.setSoTimeout(0);
        journal.gaps().waited(Gaps.Request.CONNECT, connectSince);
        connectSince = 0;
        resume(connection, asked, really, connack.sessionPresent());
        return true;
      }
    } catch (IOException e) {
      // Recorded below.
    }
    closeQuietly(socket);
    journal.add(new Event.ConnectFailed(System.nanoTime(), profile.id, connection.number, asked, really, reason));
    return false;
  }

  private synchronized void supersede() {
    if (current == null) return;
    current.superseded = true;
    current = null;
  }

  private void resume(Connection connection, long asked, boolean clean, boolean sessionPresent) throws IOException {
    var again = new ArrayList<Map.Entry<Integer, Outgoing>>();
    synchronized (this) {
      journal.add(
          new Event.Connected(
              System.nanoTime(), profile.id, connection.number, connection.node, profile.level, asked, clean, profile.expirySeconds, sessionPresent));
      if (!sessionPresent) {
        outgoing.clear();
        incoming.clear();
      }
      for (var each : outgoing.entrySet()) again.add(Map.entry(each.getKey(), each.getValue()));
      current = connection;
    }
    Thread.startVirtualThread(() -> read(connection));
    Thread.startVirtualThread(() -> ping(connection));
    for (var each : again) {
      var message = each.getValue();
      if (message.received) {
        connection.write(Packet.answer(Packet.PUBREL, each.getKey()));
        continue;
      }
      journal.add(event(connection, message, true));
      var p = message.publish;
      connection.write(
          Packet.publish(
              profile.level, new Packet.Publish(p.topic(), p.packetId(), p.qos(), true, p.retain(), p.payload(), p.tag(), p.expirySeconds())));
    }
  }

  private Event.Published event(Connection connection, Outgoing message, boolean dup) {
    var p = message.publish;
    return new Event.Published(
        System.nanoTime(), profile.id, connection.number, message.id, p.topic(), p.qos(), p.retain(), message.delete, p.expirySeconds(), dup);
  }

  // ------------------------------------------------------------------------------------------------------------ publishing

  /** A message to publish; {@code delete} sends an empty payload, and {@code expirySeconds} is -1 for none. */
  public record Draft(String topic, int qos, int bytes, boolean retain, boolean delete, long expirySeconds) {
    public static Draft of(String topic, int qos, int bytes) {
      return new Draft(topic, qos, bytes, false, false, -1);
    }
  }

  /** Whether its messages can have a Message Expiry Interval, which MQTT 3.1.1 does not know. */
  boolean canExpire() {
    return profile.level >= 5;
  }

  /** Sends the next message, once the window has room; returns its number, or -1 without a connection. */
  public long publish(Draft draft) {
    if (draft.expirySeconds >= 0 && !canExpire()) throw new IllegalArgumentException(profile.id + " cannot send an expiry");
    Connection connection;
    Outgoing message;
    synchronized (this) {
      while (current != null && draft.qos > 0 && outgoing.size() >= profile.window) waitQuietly();
      connection = current;
      if (connection == null) return -1;
      var id = new MessageId(profile.id, ++published);
      int packetId = draft.qos == 0 ? 0 : freePacketId();
      byte[] payload = draft.delete ? new byte[0] : padded(id, draft.bytes);
      String tag = draft.delete ? id.toString() : "";
      var publish = new Packet.Publish(draft.topic, packetId, draft.qos, false, draft.retain, payload, tag, draft.expirySeconds);
      message = new Outgoing(id, publish, draft.delete, false);
      if (draft.qos > 0) outgoing.put(packetId, message);
      if (draft.qos == 1 && publishSince == 0) publishSince = System.nanoTime();
      journal.add(event(connection, message, false));
    }
    try {
      connection.write(Packet.publish(profile.level, message.publish));
    } catch (IOException e) {
      // The reading thread notices the end.
    }
    return message.id.number();
  }

  private static byte[] padded(MessageId id, int bytes) {
    var text = new StringBuilder(id.toString()).append(' ');
    while (text.length() < bytes) text.append('.');
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  private int freePacketId() {
    do lastPacketId = lastPacketId % 65_535 + 1;
    while (outgoing.containsKey(lastPacketId));
    return lastPacketId;
  }

  /** Waits until everything is acknowledged; false when the connection ends or the time passes first. */
  public synchronized boolean awaitAcknowledged(Duration most) {
    long deadline = System.nanoTime() + most.toNanos();
    while (current != null && !outgoing.isEmpty() && System.nanoTime() < deadline) waitQuietly();
    return outgoing.isEmpty();
  }

  @SuppressWarnings("WaitNotInLoop") // both callers are loops
  private void waitQuietly() {
    try {
      wait(50);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  // ------------------------------------------------------------------------------------------------------------ subscribing

  /** Subscribes; returns whether SUBACK grants the QoS. */
  public boolean subscribe(String filter, int qos) {
    var connection = connection();
    if (connection == null) return false;
    long asked = System.nanoTime();
    if (subscribeSince == 0) subscribeSince = asked;
    journal.add(new Event.SubscribeAsked(asked, profile.id, filter));
    var answer = ask(connection, packetId -> Packet.subscribe(profile.level, packetId, filter, qos));
    boolean granted = answer.isPresent() && answer.get().reason() == qos;
    if (granted) {
      journal.gaps().waited(Gaps.Request.SUBSCRIBE, subscribeSince);
      subscribeSince = 0;
    }
    return granted
        && add(new Event.Subscribed(System.nanoTime(), profile.id, connection.number, asked, filter, qos));
  }

  public boolean unsubscribe(String filter) {
    var connection = connection();
    if (connection == null) return false;
    journal.add(new Event.UnsubscribeAsked(System.nanoTime(), profile.id, filter));
    return ask(connection, packetId -> Packet.unsubscribe(profile.level, packetId, filter)).isPresent()
        && add(new Event.Unsubscribed(System.nanoTime(), profile.id, connection.number, filter));
  }

  private boolean add(Event event) {
    journal.add(event);
    return true;
  }

  private synchronized @Nullable Connection connection() {
    return current;
  }

  private interface Question {
    byte[] with(int packetId);
  }

  private Optional<Packet> ask(Connection connection, Question question) {
    var answer = new CompletableFuture<Packet>();
    int packetId;
    synchronized (this) {
      packetId = freePacketId();
    }
    connection.questions.put(packetId, answer);
    try {
      connection.write(question.with(packetId));
      if (connection.ended) return Optional.empty();
      return Optional.of(answer.get(ANSWER_MAX.toMillis(), TimeUnit.MILLISECONDS));
    } catch (IOException | ExecutionException | TimeoutException e) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  // ------------------------------------------------------------------------------------------------------------ the end

  /** Sends DISCONNECT 0x00; returns when the broker has closed the connection. */
  public void disconnect() {
    subscribeSince = 0; // it has given up
    Connection connection;
    synchronized (this) {
      connection = current;
      if (connection == null) return;
      connection.disconnectingSince = System.nanoTime();
      connection.disconnecting = true;
    }
    try {
      connection.write(Packet.disconnect());
      connection.closed.get(ANSWER_MAX.toMillis(), TimeUnit.MILLISECONDS);
    } catch (IOException | ExecutionException | TimeoutException e) {
      abandon();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Closes the connection without DISCONNECT. */
  public void abandon() {
    subscribeSince = 0;
    var connection = connection();
    if (connection == null) return;
    end(connection, End.ABANDONED);
    closeQuietly(connection.socket);
  }

  @Override
  public void close() {
    abandon();
  }

  private synchronized void end(Connection connection, End how) {
    if (connection.ended) return;
    connection.ended = true;
    if (current == connection) current = null;
    long now = System.nanoTime();
    journal.add(new Event.Ended(now, profile.id, connection.number, how, connection.reason, connection.disconnecting ? connection.disconnectingSince : now));
    notifyAll();
    connection.closed.complete(true);
    connection.questions.values().forEach(question -> question.completeExceptionally(new IOException("the connection has ended")));
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // The connection is closed in any case.
    }
  }

  // ------------------------------------------------------------------------------------------------------------ what comes

  private void read(Connection connection) {
    try {
      while (true) {
        while (!taking.reads && !connection.ended) Thread.sleep(20);
        var packet = Packet.read(profile.level, connection.in);
        for (byte[] answer : handle(connection, packet)) connection.write(answer);
      }
    } catch (IOException e) {
      // The connection has ended.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      end(connection, connection.disconnecting ? End.DISCONNECTED : connection.superseded ? End.TAKEN_OVER : End.BY_BROKER);
      closeQuietly(connection.socket);
    }
  }

  /** Sends PINGREQ (MQTT 5.0, 3.12) until the connection ends, and none behind DISCONNECT. */
  private static void ping(Connection connection) {
    try {
      for (Thread.sleep(PING_PAUSE); !connection.ended && !connection.disconnecting; Thread.sleep(PING_PAUSE)) connection.write(Packet.ping());
    } catch (IOException e) {
      // The reading thread notices the end.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private List<byte[]> handle(Connection connection, Packet packet) throws InterruptedException {
    if (packet.type() == Packet.DISCONNECT) {
      connection.reason = packet.reason();
      return List.of();
    }
    if (packet.type() == Packet.PUBLISH) {
      var publish = packet.publish();
      if (!received(connection, publish) || publish.qos() == 0 || !taking.answers) return List.of();
      if (taking.pause.isPositive()) Thread.sleep(taking.pause);
      journal.add(new Event.Answered(System.nanoTime(), profile.id, connection.number, idOf(publish)));
      return List.of(Packet.answer(publish.qos() == 1 ? Packet.PUBACK : Packet.PUBREC, publish.packetId()));
    }
    return packet.type() == Packet.PINGRESP ? List.of() : answered(connection, packet);
  }

  private static MessageId idOf(Packet.Publish publish) {
    String said = publish.payload().length == 0 ? publish.tag() : new String(publish.payload(), StandardCharsets.US_ASCII);
    var words = said.split(" ", 3);
    // The checker finds a message that was not sent in this form.
    return words.length < 2 || !words[1].matches("\\d+") ? new MessageId("?" + said, 0) : new MessageId(words[0], Long.parseLong(words[1]));
  }

  private synchronized boolean received(Connection connection, Packet.Publish publish) {
    if (connection != current) {
      if (connection.superseded)
        journal.add(new Event.ReceivedBehind(System.nanoTime(), profile.id, connection.number, idOf(publish), publish.qos()));
      return false;
    }
    boolean repeated = publish.qos() == 2 && !incoming.add(publish.packetId());
    seen.add(publish.topic());
    journal.add(
        new Event.Received(
            System.nanoTime(), profile.id, connection.number, idOf(publish), publish.topic(), publish.qos(), publish.dup(), publish.retain(),
            publish.payload().length == 0, publish.packetId(), repeated, publish.expirySeconds()));
    return true;
  }

  private synchronized List<byte[]> answered(Connection connection, Packet packet) {
    if (connection != current) return List.of();
    int packetId = packet.packetId();
    switch (packet.type()) {
      case Packet.PUBACK -> {
        var message = outgoing.remove(packetId);
        if (message != null) {
          journal.add(new Event.Acknowledged(System.nanoTime(), profile.id, message.id, packet.reason()));
          if (packet.reason() < Packet.ERRORS) waited();
        }
      }
      case Packet.PUBREC -> {
        var message = outgoing.get(packetId);
        if (message != null && !message.received) {
          journal.add(new Event.Acknowledged(System.nanoTime(), profile.id, message.id, packet.reason()));
          if (packet.reason() >= Packet.ERRORS) outgoing.remove(packetId);
          else outgoing.put(packetId, new Outgoing(message.id, message.publish, message.delete, true));
        }
        notifyAll();
        return packet.reason() >= Packet.ERRORS ? List.of() : List.of(Packet.answer(Packet.PUBREL, packetId));
      }
      case Packet.PUBCOMP -> outgoing.remove(packetId);
      case Packet.PUBREL -> {
        incoming.remove(packetId);
        return List.of(Packet.answer(Packet.PUBCOMP, packetId));
      }
      case Packet.SUBACK, Packet.UNSUBACK -> {
        var question = connection.questions.remove(packetId);
        if (question != null) question.complete(packet);
      }
      default -> throw new IllegalStateException("a packet that no server sends: " + packet.first());
    }
    notifyAll();
    return List.of();
  }

  private void waited() {
    journal.gaps().waited(Gaps.Request.PUBLISH, publishSince);
    publishSince = outgoing.isEmpty() ? 0 : System.nanoTime();
  }

  /** One socket. */
  private static final class Connection {
    final int number;
    final int node;
    final Socket socket;
    final DataInputStream in;
    final Map<Integer, CompletableFuture<Packet>> questions = new ConcurrentHashMap<>();
    final CompletableFuture<Boolean> closed = new CompletableFuture<>();
    volatile boolean superseded;
    volatile boolean disconnecting;
    volatile long disconnectingSince;
    volatile boolean ended;
    volatile int reason = -1;

    Connection(int number, int node, Socket socket) throws IOException {
      this.number = number;
      this.node = node;
      this.socket = socket;
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
    }

    synchronized void write(byte[] packet) throws IOException {
      socket.getOutputStream().write(packet);
    }
  }
}
