package dunlin.broker.connect;

import dunlin.broker.auth.Peer;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.fanout.FilterHandle;
import dunlin.broker.fanout.RouteTable;
import dunlin.broker.fanout.ShareGroup;
import dunlin.broker.fanout.Subscriber;
import dunlin.broker.session.Hold;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.MessageLook;
import dunlin.broker.session.Outlook;
import dunlin.broker.session.SessionFigures;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
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
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds clients among the connections of all event loops, for operators, who can wait. */
public final class ConnectedClients implements ClientsMXBean {
  /*
   * The index of all loops has the clients in their order, so a page costs its own rows, which their loops read, ROWS_SLICE in a round. A filter that few clients meet
   * looks through the index on the thread of the operator. Only what all clients are compared by (top) is read by each loop of all its connections, SLICE of them in a
   * round, and it serves its sockets in between.
   *
   * Owner: any thread that may block; what is noted on a loop is read here once the loop has answered.
   * Bounds: one question at a time, so that loops have one slice a round; others wait for it, on their own threads. A question takes PAGE_MAX notes and rows, and
   * to compare all clients a copy of each loop's table of connections (references), for a rate with a number for each.
   * Failure: a question has PATIENCE_SECONDS, then it fails and the loops stop looking. A client that disconnects while it is looked for
   * is left out.
   */
  private static final Logger log = LoggerFactory.getLogger(ConnectedClients.class);
  private static final int PAGE_MAX = 1_000;
  private static final int TOP_MAX = 100;
  /** No packet may be larger. */
  private static final int PAYLOAD_MAX = 2 * 1_024 * 1_024;
  private static final int IN_FLIGHT_MAX = 200;
  private static final int QUEUED_MAX = 100;
  private static final int SLICE = 256;
  private static final int ROWS_SLICE = 64;
  private static final int PATIENCE_SECONDS = 30;
  private static final int BETWEEN_READINGS_MILLIS = 500;
  private static final double NANOS_OF_SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final int KEEP_ALIVE_MILLIS = 1_500;

  private final Reception reception;
  private final ReentrantLock turn = new ReentrantLock();

  public ConnectedClients(Reception reception) {
    this.reception = reception;
  }

  /** A client that may be among the first ones. */
  private record Note(String clientId, long figure, long connection) {}

  /** How many clients with most of something are asked for. */
  private record Choice(int max, ToLongFunction<Connection> figure) {
    private static final Comparator<Note> MOST =
        Comparator.comparingLong(Note::figure).reversed().thenComparing(Note::clientId).thenComparingLong(Note::connection);
  }

  /** What a counter of a loop's connections has been; belongs to the loop. */
  private static final class Counted {
    final @Nullable Connection[] all;
    final int[] counts;
    final long nanos;

    Counted(@Nullable Connection[] all, long nanos) {
      this.all = all;
      this.counts = new int[all.length];
      this.nanos = nanos;
    }
  }

  /** What a loop looks at: so many, one after the other. */
  private record Visiting(int count, IntConsumer each) {}

  @Override
  public List<ClientRow> list(String tenant, String prefix, String user, String listener, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    Predicate<Connection> chosen =
        connection -> (user.isEmpty() || user.equals(connection.user())) && (listener.isEmpty() || listener.equals(connection.listenerName()));
    try (Question question = new Question()) {
      List<ClientRow> page = new ArrayList<>();
      String last = after;
      while (true) {
        int wanted = max - page.size();
        List<Note> found = question.behind(tenant, prefix, last, chosen, wanted);
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
    try (Question question = new Question()) {
      return switch (by) {
        case PUBLISHED_RATE -> busiest(question, max, connection -> figures(connection).published());
        case SENT_RATE -> busiest(question, max, connection -> figures(connection).sent());
        default -> question.read(question.most(new Choice(max, figure(by))), this::row);
      };
    }
  }

  private List<ClientRow> busiest(Question question, int max, ToIntFunction<Connection> counter) {
    List<Note> busiest = question.busiest(max, counter);
    Map<Long, Long> rates = busiest.stream().collect(Collectors.toMap(Note::connection, Note::figure));
    return question.read(busiest, connection -> row(connection, rates.getOrDefault(connection.number(), 0L)));
  }

  private static ToLongFunction<Connection> figure(ClientFigure by) {
    return switch (by) {
      case QUEUED -> connection -> figures(connection).queued();
      case QUEUED_BYTES -> connection -> figures(connection).queuedBytes();
      case IN_FLIGHT -> connection -> figures(connection).inFlight();
      case RECEIVING -> connection -> figures(connection).receiving();
      case SOCKET_BYTES -> Connection::waitingBytes;
      case SUBSCRIPTIONS -> connection -> figures(connection).subscriptions();
      case OLDEST -> connection -> figures(connection).oldestMillis();
      case PUBLISHED_RATE, SENT_RATE -> throw new IllegalStateException("a rate takes two readings");
    };
  }

  @Override
  public List<ClientDetails> get(String tenant, String clientId) {
    try (Question question = new Question()) {
      return question.read(named(tenant, clientId), this::details);
    }
  }

  @Override
  public List<SubscriptionRow> subscriptions(String tenant, String clientId, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    return ofOne(tenant, clientId, session -> session.subscriptionsBehind(after, max)).stream()
        .map(each -> SubscriptionRow.of(each.filter().text(), each.options()))
        .toList();
  }

  @Override
  public List<InFlightRow> inFlight(String tenant, String clientId, long after, int max) {
    NodeBeans.requireMax(max, IN_FLIGHT_MAX);
    requirePlace(after);
    return ofOne(tenant, clientId, session -> MessageLook.inFlight(session, after, max));
  }

  @Override
  public List<QueuedRow> queue(String tenant, String clientId, long after, int max) {
    NodeBeans.requireMax(max, QUEUED_MAX);
    requirePlace(after);
    return ofOne(tenant, clientId, session -> MessageLook.queue(session, after, max));
  }

  private static void requirePlace(long after) {
    if (after < 0) throw new IllegalArgumentException("a place is not negative");
  }

  /** What one client has; nothing when it is not connected. */
  private <R> List<R> ofOne(String tenant, String clientId, Function<LiveSession, List<R>> view) {
    try (Question question = new Question()) {
      return question.read(named(tenant, clientId), connection -> view.apply(sessionOf(connection))).stream().flatMap(List::stream).toList();
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
            if (filter.compareTo(after) > 0) first.offer(new GroupOfClients(filter, group.size(), group.stalled(), group.taken()));
          });
    }
    return first.inOrder();
  }

  @Override
  public boolean disconnect(String tenant, String clientId) {
    try (Question question = new Question()) {
      List<Boolean> ended =
          question.read(
              named(tenant, clientId),
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
    Publication message = message(tenant, publisher, topic, qos, retain, bytes);
    try (Question question = new Question()) {
      return question.read(
          named(tenant, clientId),
          connection -> Outlook.of(sessionOf(connection), message, connection.waitingBytes()));
    }
  }

  @Override
  public List<PublisherOutlook> publisherOutlook(String tenant, String clientId, String topic, int qos, boolean retain, int bytes) {
    Publication message = message(tenant, clientId, topic, qos, retain, bytes);
    try (Question question = new Question()) {
      return question.read(named(tenant, clientId), connection -> Outlook.ofPublisher(sessionOf(connection), message, connection.packetLimits()));
    }
  }

  private static Publication message(String tenant, String publisher, String topic, int qos, boolean retain, int bytes) {
    if (bytes < 0 || bytes > PAYLOAD_MAX) throw new IllegalArgumentException("a payload has 0 to %d bytes, not %d".formatted(PAYLOAD_MAX, bytes));
    return Publication.of(new Publisher(tenant, publisher), topic, qos(qos), retain, 0, new byte[bytes]);
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
    try (Question question = new Question()) {
      return question.handle(tenant, shared).map(FilterHandle::group).map(group -> question.outlook(group, asked, bytes)).orElseGet(() -> new GroupOutlook(0, 0));
    }
  }

  @Override
  public List<SubscriberRow> subscribers(String tenant, String filter, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    TopicFilter parsed = TopicFilter.parse(filter).orElseThrow(() -> new IllegalArgumentException("not a topic filter"));
    try (Question question = new Question()) {
      Optional<FilterHandle> handle = question.handle(tenant, parsed);
      List<SubscriberRow> page = new ArrayList<>();
      String last = after;
      while (handle.isPresent()) {
        int wanted = max - page.size();
        List<String> names = question.subscribers(handle.get(), last, wanted);
        List<Note> notes = names.stream().flatMap(name -> named(tenant, name).stream()).toList();
        question.read(notes, connection -> subscriber(connection, parsed)).forEach(page::addAll);
        if (names.size() < wanted || page.size() == max) break; // as above
        last = names.getLast();
      }
      return page;
    }
  }

  /** The note of a client; none when it is not connected. */
  private List<Note> named(String tenant, String clientId) {
    Connection connection = reception.index().get(tenant, clientId);
    return connection == null ? List.of() : List.of(new Note(clientId, 0, connection.number()));
  }

  // ------------------------------------------------------------------------------------------------------------ on the loops

  private static LiveSession sessionOf(Connection connection) {
    return Objects.requireNonNull(connection.session(), "a client without a session");
  }

  private static SessionFigures figures(Connection connection) {
    return sessionOf(connection).figures();
  }

  private static boolean isClient(Connection connection) {
    return connection.live() && connection.hasSession();
  }

  /** The subscription of a session that ends with its connection; none when that has ended since. */
  private List<SubscriberRow> subscriber(Connection connection, TopicFilter filter) {
    LiveSession session = sessionOf(connection);
    SubscriptionOptions options = session.durable() ? null : session.optionsOf(filter);
    if (options == null) return List.of();
    SessionFigures figures = session.figures();
    return List.of(
        new SubscriberRow(
            filter.text(), filter.group(), session.clientId(), reception.nodeId(), false, options.maximumQoS().code(),
            Math.max(0, figures.receiveMaximum() - figures.inFlight()), figures.inFlight(), figures.queued(), -1, filter.shared() ? session.takenOf(filter) : -1));
  }

  private ClientRow row(Connection connection) {
    return row(connection, -1);
  }

  private ClientRow row(Connection connection, long perSecond) {
    LiveSession session = sessionOf(connection);
    SessionFigures figures = session.figures();
    Peer peer = connection.peer();
    return new ClientRow(
        reception.nodeId(), session.publisher().tenant(), session.clientId(), connection.user(), shown(peer.address()), peer.listener(), session.version().toString(),
        since(connection), session.durable(), figures.subscriptions(), figures.inFlight(), figures.receiving(), figures.queued(),
        figures.queuedBytes(), connection.waitingBytes(), figures.oldestMillis(), perSecond);
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

    /** The first chosen clients behind another one, in their order. */
    List<Note> behind(String tenant, String prefix, String after, Predicate<Connection> chosen, int max) {
      boolean within = prefix.compareTo(after) > 0;
      List<Note> found = new ArrayList<>();
      for (Connection each : reception.index().from(tenant, within ? prefix : after, within)) {
        Publisher client = sessionOf(each).publisher();
        if (!client.tenant().equals(tenant) || !client.clientId().startsWith(prefix)) break;
        if (!chosen.test(each)) continue;
        found.add(new Note(client.clientId(), 0, each.number()));
        if (found.size() == max) break;
      }
      return found;
    }

    /** The clients with most of something, in their order; those with none of it are left out. */
    List<Note> most(Choice choice) {
      return first(
          Choice.MOST, choice.max(),
          (part, here) -> {
            @Nullable Connection[] all = part.table().copy();
            return new Visiting(
                all.length,
                i -> {
                  Connection each = all[i];
                  long value = each != null && isClient(each) ? choice.figure().applyAsLong(each) : 0;
                  if (each != null && value != 0) here.offer(new Note(sessionOf(each).clientId(), value, each.number()));
                });
          });
    }

    /** The clients of which a counter rises fastest, in their order, with what it rises by in a second. */
    List<Note> busiest(int max, ToIntFunction<Connection> counter) {
      Map<LoopConnections, Counted> before = new ConcurrentHashMap<>();
      first(
          Choice.MOST, 1,
          (part, _) -> {
            Counted counted = new Counted(part.table().copy(), System.nanoTime());
            before.put(part, counted);
            return new Visiting(
                counted.all.length,
                i -> {
                  Connection each = counted.all[i];
                  if (each != null && isClient(each)) counted.counts[i] = counter.applyAsInt(each);
                  else counted.all[i] = null;
                });
          });
      pause();
      return first(
          Choice.MOST, max,
          (part, here) -> {
            Counted counted = Objects.requireNonNull(before.get(part), "a loop that has answered");
            double seconds = (System.nanoTime() - counted.nanos) / NANOS_OF_SECOND;
            return new Visiting(
                counted.all.length,
                i -> {
                  Connection each = counted.all[i];
                  long more = each != null && isClient(each) ? counter.applyAsInt(each) - counted.counts[i] : 0;
                  if (each != null && more > 0) here.offer(new Note(sessionOf(each).clientId(), Math.max(1, Math.round(more / seconds)), each.number()));
                });
          });
    }

    private static void pause() {
      try {
        TimeUnit.MILLISECONDS.sleep(BETWEEN_READINGS_MILLIS);
      } catch (InterruptedException _) {
        throw interrupted();
      }
    }

    /** The first client identifiers, behind another one, of sessions that have subscribed to a filter. */
    List<String> subscribers(FilterHandle filter, String after, int max) {
      ShareGroup group = filter.group();
      if (group == null) {
        return first(
            Comparator.<String>naturalOrder(), max,
            (part, here) -> {
              String[] all = filter.clientIdsOn(part.loop().index());
              return new Visiting(
                  all.length,
                  i -> {
                    if (all[i].compareTo(after) > 0) here.offer(all[i]);
                  });
            });
      }
      FirstRows<String> first = new FirstRows<>(Comparator.<String>naturalOrder(), max);
      for (Subscriber each : group.members()) if (each.clientId().compareTo(after) > 0) first.offer(each.clientId());
      return first.inOrder();
    }

    /** The handle of a filter, which one loop keeps; empty without subscriptions. */
    Optional<FilterHandle> handle(String tenant, TopicFilter filter) {
      LoopConnections owner = reception.on(RouteTable.ownerOf(tenant, filter, reception.parts().size()));
      CompletableFuture<Optional<FilterHandle>> answer = new CompletableFuture<>();
      owner.loop().post(() -> answer.complete(owner.sessions().fanout().routes().find(tenant, filter)));
      await(List.of(answer.thenAccept(_ -> {})));
      return answer.join();
    }

    /**
     * The first ones, over all loops, of what each loop finds.
     *
     * @param begin says, on a loop, what it looks at, and offers what it finds
     */
    private <T> List<T> first(Comparator<T> order, int max, BiFunction<LoopConnections, FirstRows<T>, Visiting> begin) {
      FirstRows<T> first = new FirstRows<>(order, max);
      List<FirstRows<T>> ofLoops = new ArrayList<>();
      List<CompletableFuture<Void>> answers = new ArrayList<>();
      for (LoopConnections part : reception.parts()) {
        FirstRows<T> here = new FirstRows<>(order, max);
        ofLoops.add(here);
        CompletableFuture<Void> done = new CompletableFuture<>();
        answers.add(done);
        part.loop().post(
            () -> {
              Visiting visiting = begin.apply(part, here);
              part.loop().visit(visiting.count(), SLICE, visiting.each(), done);
            });
      }
      await(answers);
      for (FirstRows<T> each : ofLoops) first.offerAll(each.inOrder());
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
                    part.loop().visit(
                        its.size(), ROWS_SLICE,
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
