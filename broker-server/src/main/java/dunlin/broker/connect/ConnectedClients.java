package dunlin.broker.connect;

import dunlin.broker.auth.Peer;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.fanout.RouteTable;
import dunlin.broker.fanout.ShareGroup;
import dunlin.broker.loop.Loop;
import dunlin.broker.session.Hold;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.Outlook;
import dunlin.broker.session.SessionFigures;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.runtime.FirstRows;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.NodeBeans;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds clients among the connections of all event loops, for operators, who can wait. */
public final class ConnectedClients implements ClientsMXBean {
  /*
   * Connections have no order and no index by client identifier. So for each question every loop looks through its own connections, SLICE
   * of them in a round, and serves its sockets in between. It notes the first ones of those that are asked for; only the first ones over
   * all loops become rows, on their loops again.
   *
   * Owner: any thread that may block; what is noted on a loop is read here once the loop has answered.
   * Bounds: one question at a time, so that loops have one slice a round; others wait for it, on their own threads. A question takes a
   * copy of each loop's table of connections (references), PAGE_MAX notes for each loop, and PAGE_MAX rows.
   * Failure: a question has PATIENCE_SECONDS, then it fails and the loops stop looking. A client that disconnects while it is looked for
   * is left out.
   */
  private static final Logger log = LoggerFactory.getLogger(ConnectedClients.class);
  private static final int PAGE_MAX = 1_000;
  private static final int TOP_MAX = 100;
  /** No packet may be larger. */
  private static final int PAYLOAD_MAX = 2 * 1_024 * 1_024;
  private static final int SLICE = 256;
  private static final int ROWS_SLICE = 64;
  private static final int PATIENCE_SECONDS = 30;
  private static final int KEEP_ALIVE_MILLIS = 1_500;

  private final Reception reception;
  private final ReentrantLock turn = new ReentrantLock();

  public ConnectedClients(Reception reception) {
    this.reception = reception;
  }

  /** A client that may be among the first ones. */
  private record Note(String clientId, long figure, long connection) {}

  /** Which clients are asked for, and which of them come first. */
  private record Choice(Comparator<Note> order, int max, Function<Connection, Optional<Note>> notes) {
    private static final Comparator<Note> BY_NAME = Comparator.comparing(Note::clientId).thenComparingLong(Note::connection);
    private static final Comparator<Note> BY_FIGURE = Comparator.comparingLong(Note::figure).reversed().thenComparing(BY_NAME);
  }

  @Override
  public List<ClientRow> list(String tenant, String prefix, String user, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    try (Question question = new Question()) {
      List<ClientRow> page = new ArrayList<>();
      String last = after;
      while (true) {
        String behind = last;
        int wanted = max - page.size();
        List<Note> found =
            question.find(
                new Choice(
                    Choice.BY_NAME, wanted,
                    connection -> {
                      LiveSession session = sessionOf(connection);
                      String clientId = session.clientId();
                      boolean chosen = clientId.startsWith(prefix) && clientId.compareTo(behind) > 0 && session.publisher().tenant().equals(tenant);
                      return chosen && (user.isEmpty() || user.equals(connection.user())) ? note(connection, 0) : Optional.empty();
                    }));
        page.addAll(question.read(found, this::row));
        // A page that is not full is the last one for its caller, so what has disconnected in between is made up for.
        if (found.size() < wanted || page.size() == max) return page;
        last = found.getLast().clientId();
      }
    }
  }

  @Override
  public List<ClientRow> top(ClientFigure by, int max) {
    NodeBeans.requireMax(max, TOP_MAX);
    ToLongFunction<Connection> figure = figure(by);
    try (Question question = new Question()) {
      Choice most =
          new Choice(
              Choice.BY_FIGURE, max,
              connection -> {
                long value = figure.applyAsLong(connection);
                return value == 0 ? Optional.empty() : note(connection, value);
              });
      return question.read(question.find(most), this::row);
    }
  }

  private static ToLongFunction<Connection> figure(ClientFigure by) {
    return switch (by) {
      case QUEUED -> connection -> figures(connection).queued();
      case QUEUED_BYTES -> connection -> figures(connection).queuedBytes();
      case IN_FLIGHT -> connection -> figures(connection).inFlight();
      case RECEIVING -> connection -> figures(connection).receiving();
      case SOCKET_BYTES -> Connection::waitingBytes;
      case SUBSCRIPTIONS -> connection -> figures(connection).subscriptions();
    };
  }

  @Override
  public List<ClientDetails> get(String tenant, String clientId) {
    try (Question question = new Question()) {
      return question.read(question.find(named(tenant, clientId)), this::details);
    }
  }

  @Override
  public List<SubscriptionRow> subscriptions(String tenant, String clientId, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    try (Question question = new Question()) {
      return question.read(question.find(named(tenant, clientId)), connection -> sessionOf(connection).subscriptionsBehind(after, max)).stream()
          .flatMap(List::stream)
          .map(each -> SubscriptionRow.of(each.filter().text(), each.options()))
          .toList();
    }
  }

  @Override
  public List<GroupOfClients> groups(String tenant, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    FirstRows<GroupOfClients> first = new FirstRows<>(Comparator.comparing(GroupOfClients::filter), max);
    // Any thread may read the tables of filters, so no loop is asked.
    for (LoopConnections part : reception.parts()) {
      part.sessions().fanout().routes().visit(
          handle -> {
            ShareGroup group = handle.group();
            if (group == null || group.size() == 0 || !handle.tenant().equals(tenant)) return;
            String filter = handle.filter().text();
            if (filter.compareTo(after) > 0) first.offer(new GroupOfClients(filter, group.size(), group.stalled()));
          });
    }
    return first.inOrder();
  }

  @Override
  public boolean disconnect(String tenant, String clientId) {
    try (Question question = new Question()) {
      List<Boolean> ended =
          question.read(
              question.find(named(tenant, clientId)),
              connection -> {
                connection.fail(ReasonCode.ADMINISTRATIVE_ACTION, "an operator has ended the connection");
                return true;
              });
      if (!ended.isEmpty()) log.info("An operator has disconnected the client {}", LogText.quoted(clientId));
      return !ended.isEmpty();
    }
  }

  @Override
  public boolean isRuled() {
    return reception.authentication().authorization() != null;
  }

  @Override
  public List<ClientOutlook> outlook(String tenant, String clientId, String publisher, String topic, int qos, boolean retain, int bytes) {
    if (bytes < 0 || bytes > PAYLOAD_MAX) throw new IllegalArgumentException("a payload has 0 to %d bytes, not %d".formatted(PAYLOAD_MAX, bytes));
    Publication message = Publication.of(new Publisher(tenant, publisher), topic, qos(qos), retain, 0, new byte[bytes]);
    try (Question question = new Question()) {
      return question.read(
          question.find(named(tenant, clientId)),
          connection -> Outlook.of(sessionOf(connection), message, connection.waitingBytes()));
    }
  }

  @Override
  public List<Permission> mayPublish(String tenant, String clientId, String topic, int qos, boolean retain) {
    QoS asked = qos(qos);
    try (Question question = new Question()) {
      return question.read(question.find(named(tenant, clientId)), connection -> Outlook.publishes(sessionOf(connection), topic, asked, retain));
    }
  }

  private static QoS qos(int code) {
    if (code < 0 || code > 2) throw new IllegalArgumentException("QoS is 0, 1 or 2, not " + code);
    return QoS.of(code);
  }

  @Override
  public GroupOutlook groupOutlook(String tenant, String filter, int qos, int bytes) {
    QoS asked = qos(qos);
    TopicFilter shared =
        TopicFilter.parse(filter).filter(TopicFilter::shared).orElseThrow(() -> new IllegalArgumentException("not the filter of a shared subscription"));
    LoopConnections part = reception.on(RouteTable.ownerOf(tenant, shared, reception.parts().size()));
    CompletableFuture<Optional<ShareGroup>> answer = new CompletableFuture<>();
    part.loop().post(() -> answer.complete(part.sessions().fanout().routes().group(tenant, shared)));
    try (Question question = new Question()) {
      question.await(List.of(answer.thenAccept(_ -> {})));
      return answer.join().map(group -> question.outlook(group, asked, bytes)).orElseGet(() -> new GroupOutlook(0, 0));
    }
  }

  private static Choice named(String tenant, String clientId) {
    return new Choice(
        Choice.BY_NAME, 1,
        connection -> {
          LiveSession session = sessionOf(connection);
          return session.clientId().equals(clientId) && session.publisher().tenant().equals(tenant) ? note(connection, 0) : Optional.empty();
        });
  }

  // ------------------------------------------------------------------------------------------------------------ on the loops

  private static LiveSession sessionOf(Connection connection) {
    return Objects.requireNonNull(connection.session(), "a client without a session");
  }

  private static SessionFigures figures(Connection connection) {
    return sessionOf(connection).figures();
  }

  private static Optional<Note> note(Connection connection, long figure) {
    return Optional.of(new Note(sessionOf(connection).clientId(), figure, connection.number()));
  }

  private static boolean isClient(Connection connection) {
    return connection.live() && connection.hasSession();
  }

  private ClientRow row(Connection connection) {
    LiveSession session = sessionOf(connection);
    SessionFigures figures = session.figures();
    Peer peer = connection.peer();
    return new ClientRow(
        reception.nodeId(), session.publisher().tenant(), session.clientId(), connection.user(), shown(peer.address()), peer.listener(), session.version().toString(),
        since(connection), session.durable(), figures.subscriptions(), figures.inFlight(), figures.receiving(), figures.queued(),
        figures.queuedBytes(), connection.waitingBytes());
  }

  private ClientDetails details(Connection connection) {
    LiveSession session = sessionOf(connection);
    SessionFigures figures = session.figures();
    Peer peer = connection.peer();
    List<X509Certificate> certificates = peer.certificates();
    return new ClientDetails(
        reception.nodeId(), session.publisher().tenant(), session.clientId(), connection.user(), shown(peer.address()), peer.listener(), peer.encrypted(),
        certificates.isEmpty() ? "" : certificates.getFirst().getSubjectX500Principal().getName(), session.version().toString(), since(connection),
        (int) (connection.silenceMaxMillis() / KEEP_ALIVE_MILLIS), connection.home().keepAlive().silentMillis(connection), session.durable(),
        connection.sessionExpirySeconds(), connection.hasWill(), figures.subscriptions(), figures.receiveMaximum(), figures.inFlight(), figures.queued(),
        figures.queuedBytes(), figures.heldBytes(), connection.waitingBytes(), figures.receiving(), figures.unreleased(),
        connection.holds().stream().map(ConnectedClients::label).toList());
  }

  private static String since(Connection connection) {
    return Instant.ofEpochMilli(connection.connectedAtMillis()).toString();
  }

  private static String label(Hold hold) {
    return hold.name().toLowerCase(Locale.ROOT);
  }

  private static String shown(SocketAddress address) {
    if (!(address instanceof InetSocketAddress internet)) return address.toString();
    String host = internet.getHostString();
    return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + internet.getPort();
  }

  /** Visits the numbers from one up to another on a loop, some in each of its rounds, as long as the question waits for it. */
  private static void visit(Loop loop, int from, int count, int slice, IntConsumer each, CompletableFuture<Void> done) {
    if (done.isDone()) return;
    int end = Math.min(count, from + slice);
    for (int i = from; i < end; i++) each.accept(i);
    if (end == count) done.complete(null);
    else loop.afterSockets(() -> visit(loop, end, count, slice, each, done));
  }

  /** One question of an operator, which has its turn until it is closed. */
  private final class Question implements AutoCloseable {
    private final long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);

    Question() {
      try {
        if (!turn.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS)) throw tooSlow();
      } catch (InterruptedException _) {
        throw interrupted();
      }
    }

    private static IllegalStateException tooSlow() {
      return new IllegalStateException("the event loops have not looked through their clients within " + PATIENCE_SECONDS + " s");
    }

    private static IllegalStateException interrupted() {
      Thread.currentThread().interrupt();
      return new IllegalStateException("interrupted");
    }

    /** The first ones of a choice, in their order. */
    List<Note> find(Choice choice) {
      FirstRows<Note> first = new FirstRows<>(choice.order(), choice.max());
      List<FirstRows<Note>> ofLoops = new ArrayList<>();
      List<CompletableFuture<Void>> answers = new ArrayList<>();
      for (LoopConnections part : reception.parts()) {
        FirstRows<Note> here = new FirstRows<>(choice.order(), choice.max());
        ofLoops.add(here);
        CompletableFuture<Void> done = new CompletableFuture<>();
        answers.add(done);
        part.loop().post(
            () -> {
              @Nullable Connection[] all = part.table().copy();
              visit(
                  part.loop(), 0, all.length, SLICE,
                  i -> {
                    Connection each = all[i];
                    if (each != null && isClient(each)) choice.notes().apply(each).ifPresent(here::offer);
                  },
                  done);
            });
      }
      await(answers);
      for (FirstRows<Note> each : ofLoops) first.offerAll(each.inOrder());
      return first.inOrder();
    }

    /** What is to be known of the clients of notes, in their order, without those that have disconnected. */
    <R> List<R> read(List<Note> notes, Function<Connection, R> view) {
      Map<LoopConnections, List<Note>> byLoop = new HashMap<>();
      for (Note note : notes) byLoop.computeIfAbsent(reception.partOf(note.connection()), _ -> new ArrayList<>()).add(note);
      Map<Note, R> views = new ConcurrentHashMap<>();
      List<CompletableFuture<Void>> answers = new ArrayList<>();
      byLoop.forEach(
          (part, its) -> {
            CompletableFuture<Void> done = new CompletableFuture<>();
            answers.add(done);
            part.loop().post(
                () ->
                    visit(
                        part.loop(), 0, its.size(), ROWS_SLICE,
                        i -> {
                          Connection each = part.table().get(its.get(i).connection());
                          if (each != null && isClient(each)) views.put(its.get(i), view.apply(each));
                        },
                        done));
          });
      await(answers);
      return notes.stream().map(views::get).filter(Objects::nonNull).toList();
    }

    /** Each loop looks at its own members: what others see of them may be of an earlier round. */
    GroupOutlook outlook(ShareGroup group, QoS qos, int size) {
      AtomicInteger taking = new AtomicInteger();
      List<CompletableFuture<Void>> answers = new ArrayList<>();
      for (LoopConnections part : reception.parts()) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        answers.add(done);
        part.loop().post(
            () -> {
              taking.addAndGet(group.taking(part.loop(), qos, size));
              done.complete(null);
            });
      }
      await(answers);
      return new GroupOutlook(group.size(), taking.get());
    }

    private void await(List<CompletableFuture<Void>> answers) {
      try {
        for (CompletableFuture<Void> each : answers) each.get(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException _) {
        throw tooSlow();
      } catch (InterruptedException _) {
        throw interrupted();
      } catch (ExecutionException impossible) {
        throw new IllegalStateException(impossible);
      } finally {
        answers.forEach(each -> each.cancel(false));
      }
    }

    @Override
    public void close() {
      turn.unlock();
    }
  }
}
