package dunlin.inbox.server;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.KeptConnections;
import dunlin.model.QoS;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One life of a frontend of an {@link InboxNode}, beside the node's own. Records its calls. */
final class TestFrontend implements KeptConnections {
  final String name;
  final long incarnation;
  final List<String> pushed = new CopyOnWriteArrayList<>();
  final List<Long> displaced = new CopyOnWriteArrayList<>();
  final List<Long> dismissed = new CopyOnWriteArrayList<>();
  final List<Long> behind = new CopyOnWriteArrayList<>();

  /** Epochs of the connections that it has, by their numbers. */
  final Map<Long, Long> there = new ConcurrentHashMap<>();

  /** The questions for what is missing. */
  final List<List<Owner>> questions = new CopyOnWriteArrayList<>();

  /** When these are answered. */
  volatile CompletableFuture<Void> answers = CompletableFuture.completedFuture(null);

  final AtomicInteger comparisons = new AtomicInteger();
  final AtomicInteger compared = new AtomicInteger();

  /** The answer to calls of {@code settled}. */
  final CompletableFuture<Void> settled = new CompletableFuture<>();

  /** Whether every call of it fails. */
  volatile boolean broken;

  /** The number of the last connection. */
  long connections;

  private final InboxNode node;

  TestFrontend(InboxNode node, String name, long incarnation) {
    this.node = node;
    this.name = name;
    this.incarnation = incarnation;
  }

  /** A new frontend that is attached. */
  static TestFrontend attached(InboxNode node, String name, long incarnation) throws Exception {
    var frontend = new TestFrontend(node, name, incarnation);
    InboxNode.get(frontend.attach());
    return frontend;
  }

  CompletableFuture<Void> attach() {
    return node.server.attach(name, incarnation, this);
  }

  /** Attaches with the connections that it has. */
  CompletableFuture<Void> resume() {
    return node.server.resume(name, incarnation, this);
  }

  /** The same life over another link. */
  TestFrontend overAnotherLink() {
    var next = new TestFrontend(node, name, incarnation);
    next.there.putAll(there);
    next.connections = connections;
    return next;
  }

  /** A connection with a session that is subscribed to {@code a} with QoS 1. */
  Connected subscribed(String clientId) throws Exception {
    var connected = connect(clientId);
    node.subscribe(connected.session(), "a", QoS.AT_LEAST_ONCE);
    return connected;
  }

  CompletableFuture<Void> detach() {
    return node.server.detach(name, incarnation);
  }

  /** Connects a client over its next connection, from 1 on, with an expiry of an hour. */
  CompletableFuture<Connected> connecting(String clientId, @Nullable Will will) {
    long number = ++connections;
    var connecting = node.server.connect(new Connect(InboxNode.TENANT, clientId, "", connection(number), false, true, 3600, will));
    return connecting.whenComplete(
        (connected, failure) -> {
          if (failure == null) there.put(number, connected.session().epoch());
        });
  }

  Connected connect(String clientId) throws Exception {
    return InboxNode.get(connecting(clientId, null));
  }

  ConnectionId connection(long number) {
    return new ConnectionId(name, incarnation, number);
  }

  private long mine(ConnectionId connection) {
    if (broken) throw new IllegalStateException("broken by the test");
    if (!connection.frontend().equals(name) || connection.incarnation() != incarnation) throw new AssertionError(connection + " came to " + name);
    return connection.number();
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    pushed.add(mine(connection) + " " + new String(message.message().payload(), StandardCharsets.UTF_8));
  }

  @Override
  public void behind(ConnectionId connection) {
    behind.add(mine(connection));
  }

  @Override
  public void displaced(ConnectionId connection) {
    displaced.add(mine(connection));
  }

  @Override
  public void dismissed(ConnectionId connection) {
    dismissed.add(mine(connection));
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    mine(connection);
    return settled;
  }

  @Override
  public void comparing() {
    comparisons.incrementAndGet();
  }

  @Override
  public CompletableFuture<List<Long>> missing(List<Owner> owners) {
    questions.add(owners);
    var missing = owners.stream().filter(owner -> !Objects.equals(there.get(owner.connection()), owner.epoch()));
    return answers.thenApply(_ -> missing.map(Owner::connection).toList());
  }

  @Override
  public void compared() {
    compared.incrementAndGet();
  }
}
