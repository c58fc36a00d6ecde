package dunlin.admin.peers;

import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.exports.SessionExportsOfRanges;
import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.cluster.ClusterMXBean.RangeRow;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.server.SessionReplica;
import dunlin.runtime.metrics.NodeBeans;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The beans of all nodes of the cluster, seen from one of them. What a bean of another node is asked goes there. When no answer comes, that is an {@link
 * UncheckedIOException} with a sentence that names the node.
 */
public final class PeerBeans {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: AT_A_TIME nodes are asked at a time for one answer, and all of them within ALL_SECONDS. An answer has the bytes that QuestionService allows; what
   * a caller puts together from all nodes is bounded by its own question, such as the rows of a page.
   * Failure: a node that does not answer within DEADLINE is named. Deletions and imports of many rows take longer and have CHANGE: what was begun goes on behind it.
   */
  private static final Logger log = LoggerFactory.getLogger(PeerBeans.class);
  private static final Duration DEADLINE = Duration.ofSeconds(2);
  private static final Duration CHANGE = Duration.ofSeconds(60);
  private static final Set<String> CHANGES = Set.of("delete", "import");
  private static final int AT_A_TIME = 8;
  private static final int ALL_SECONDS = 10;
  private static final String SESSIONS_OF_RANGE = "The sessions of one range";
  private static final String FRONTEND = "frontend";
  private static final String LEFT = "LEFT";
  private static final Set<String> GONE = Set.of("DOWN", LEFT);

  private final NodeBeans beans;
  private final String node;
  private final Layout sessions;

  private volatile @Nullable PeerCalls calls; // set once the node belongs to a cluster

  /**
   * @param node the id of this node
   * @param sessions how they are divided
   */
  public PeerBeans(NodeBeans beans, String node, Layout sessions) {
    this.beans = beans;
    this.node = node;
    this.sessions = sessions;
  }

  /** Sets what carries questions to other nodes. */
  public void askBy(PeerCalls carrier) {
    calls = carrier;
  }

  /** The id of this node. */
  public String node() {
    return node;
  }

  /**
   * Answers of some nodes.
   *
   * @param answers by the ids of the nodes that have answered, this one first
   * @param silent by the ids of those that have not, a sentence that says why
   */
  public record Gathered<R>(SequencedMap<String, R> answers, SequencedMap<String, String> silent) {
    /** A sentence for each node that has not answered. */
    public List<String> unanswered() {
      return List.copyOf(silent.values());
    }
  }

  /** Another node has no such bean now. */
  private static final class AbsentException extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /**
   * The bean of the node that leads the ranges of a kind, whichever that is.
   *
   * @param what they hold, as the beginning of a sentence in the plural
   * @return empty when this node leads none, and belongs to no cluster
   */
  public <T> Optional<T> led(Class<T> shape, String kind, String what) {
    Optional<T> own = beans.find(shape);
    if (own.isPresent() || beans.find(ClusterMXBean.class).isEmpty()) return own;
    return Optional.of(proxy(shape, (method, arguments) -> askLeader(shape, "", range -> range.kind().equals(kind), what, method, arguments)));
  }

  /** The sessions, whichever nodes lead their ranges; empty when this node leads none, and belongs to no cluster. */
  public Optional<SessionsMXBean> sessions() {
    return ofSessions(SessionsMXBean.class, ranges -> new SessionsOfRanges(sessions, ranges));
  }

  /** What exports and imports sessions, whichever nodes lead their ranges; empty when this node leads none, and belongs to no cluster. */
  public Optional<SessionExportsMXBean> sessionExports() {
    return ofSessions(SessionExportsMXBean.class, ranges -> new SessionExportsOfRanges(sessions, ranges));
  }

  /** @param together makes one bean of those of all ranges, by number */
  private <T> Optional<T> ofSessions(Class<T> shape, Function<IntFunction<T>, T> together) {
    if (sessions.ranges() == 1 || beans.find(ClusterMXBean.class).isEmpty()) return led(shape, SessionReplica.KIND, AllNodes.SESSIONS);
    List<String> ids = sessions.rangeIds().stream().map(range -> range.uuid().toString()).toList();
    return Optional.of(
        together.apply(
            number ->
                proxy(
                    shape,
                    (method, arguments) -> {
                      Optional<T> own = find(beans, shape, ids.get(number));
                      return own.isPresent()
                          ? invoke(own.get(), method, arguments)
                          : askLeader(shape, ids.get(number), range -> range.id().equals(ids.get(number)), SESSIONS_OF_RANGE, method, arguments);
                    })));
  }

  /** A bean of a node: the only one of its type, or that of a range. */
  static <T> Optional<T> find(NodeBeans beans, Class<T> shape, String range) {
    return range.isEmpty() ? beans.find(shape) : Optional.ofNullable(beans.all(shape, SessionsMXBean.RANGE).get(range));
  }

  /**
   * A bean that answers as that of {@link #led} does, whichever node leads by then. Its operations throw IllegalStateException while there is none.
   *
   * @param what they hold, as the beginning of a sentence in the plural
   */
  public <T> T whereverLed(Class<T> shape, String kind, String what) {
    return whereverLed(shape, () -> led(shape, kind, what), what);
  }

  /** The same for {@link #sessions}. */
  public SessionsMXBean sessionsWhereverLed() {
    return whereverLed(SessionsMXBean.class, this::sessions, AllNodes.SESSIONS);
  }

  private static <T> T whereverLed(Class<T> shape, Supplier<Optional<T>> led, String what) {
    return proxy(
        shape,
        (method, arguments) -> invoke(led.get().orElseThrow(() -> new IllegalStateException(what + " are not served, since the node is starting")), method, arguments));
  }

  private Object askLeader(Class<?> shape, String range, Predicate<RangeRow> of, String what, Method method, Object[] arguments) {
    for (String candidate : candidates(of)) {
      try {
        return ask(candidate, shape, range, method, arguments);
      } catch (AbsentException elsewhere) {
        log.debug("{} are not led by node {} any more, or not yet", what, candidate, elsewhere); // which has done nothing
      }
    }
    throw unanswered(what + " have no leader that this node knows; ask again soon");
  }

  /** The nodes of the cluster, this one too; none when it belongs to no cluster. */
  List<NodeRow> nodes() {
    return beans.find(ClusterMXBean.class).map(ClusterMXBean::getNodes).orElseGet(List::of);
  }

  /** The node that leads by the last heartbeat, and behind it those that could since. */
  private Set<String> candidates(Predicate<RangeRow> of) {
    Set<String> candidates = new LinkedHashSet<>();
    List<RangeRow> ranges = beans.find(ClusterMXBean.class).map(ClusterMXBean::getRanges).orElseGet(List::of).stream().filter(of).toList();
    for (RangeRow range : ranges) if (!range.leader().isEmpty()) candidates.add(range.leader());
    for (RangeRow range : ranges) candidates.addAll(range.voters());
    return candidates;
  }

  /** The bean of a node; empty when it is this one and it has none now. */
  public <T> Optional<T> at(String of, Class<T> shape) {
    if (of.equals(node)) return beans.find(shape);
    return Optional.of(
        proxy(
            shape,
            (method, arguments) -> {
              try {
                return ask(of, shape, "", method, arguments);
              } catch (AbsentException starting) {
                throw unanswered(named(of) + " serves no clients, or not yet");
              }
            }));
  }

  /** Asks the beans of all nodes that clients may be connected to. Those that serve no clients yet have no answer. */
  public <T, R> Gathered<R> ofFrontends(Class<T> shape, Function<T, R> question) {
    return ofAll(shape, PeerBeans::isFrontend, question);
  }

  /** Asks the beans of all nodes that may be up. */
  <T, R> Gathered<R> ofPresent(Class<T> shape, Function<T, R> question) {
    return ofAll(shape, row -> !isGone(row), question);
  }

  /** The same as {@link #ofPresent} without this node. */
  <T, R> Gathered<R> ofPresentOthers(Class<T> shape, Function<T, R> question) {
    return ofOthers(shape, row -> !isGone(row), question);
  }

  /** The ids of the other nodes that have not left, in their order; empty before this node has joined a cluster. */
  public Optional<Set<String>> others() {
    return others(row -> !row.state().equals(LEFT));
  }

  /** The same without those that are down. */
  public Optional<Set<String>> presentOthers() {
    return others(row -> !isGone(row));
  }

  private Optional<Set<String>> others(Predicate<NodeRow> which) {
    Set<String> ids = new TreeSet<>();
    List<NodeRow> all = nodes();
    for (NodeRow row : all) if (which.test(row) && !row.id().equals(node)) ids.add(row.id());
    return all.stream().anyMatch(row -> row.id().equals(node)) ? Optional.of(ids) : Optional.empty();
  }

  /** A sentence for each other node that may be up, and has not said that its replicas can apply what an import of sessions adds to the log. */
  public List<String> unreadyForSessionImports() {
    return List.copyOf(unready(NodeMXBean::isReadyForSessionImports, presentOthers().orElse(Set.of())).values());
  }

  /** Asks some other nodes: a sentence, by its id, for each that has not said that its replicas can apply what limits of tenants on the bytes in inboxes add to the log. */
  public SequencedMap<String, String> unreadyForInboxLimits(Set<String> of) {
    return unready(NodeMXBean::isReadyForInboxLimits, of);
  }

  /** The same of wills whose sending is recorded. */
  public SequencedMap<String, String> unreadyForRecordedWills(Set<String> of) {
    return unready(NodeMXBean::isReadyForRecordedWills, of);
  }

  private SequencedMap<String, String> unready(Function<NodeMXBean, Boolean> question, Set<String> of) {
    Set<String> present = presentOthers().orElse(Set.of());
    Gathered<Boolean> said = ofOthers(NodeMXBean.class, row -> of.contains(row.id()) && present.contains(row.id()), question);
    SequencedMap<String, String> unready = new LinkedHashMap<>();
    for (String each : of) {
      if (said.answers().getOrDefault(each, false)) continue;
      String why = present.contains(each) ? said.silent().getOrDefault(each, "it is starting") : "it is down";
      unready.put(each, "%s has not said so, as a node of an earlier version cannot (%s)".formatted(named(each), why));
    }
    return unready;
  }

  /** Whether a node is down, or has left. */
  static boolean isGone(NodeRow row) {
    return GONE.contains(row.state());
  }

  /** The same as {@link #ofFrontends} without this node. */
  <T, R> Gathered<R> ofOtherFrontends(Class<T> shape, Function<T, R> question) {
    return ofOthers(shape, PeerBeans::isFrontend, question);
  }

  /** Whether clients may be connected to a node. */
  static boolean isFrontend(NodeRow row) {
    return row.roles().contains(FRONTEND) && !isGone(row);
  }

  /** Asks the beans of some nodes. */
  <T, R> Gathered<R> ofAll(Class<T> shape, Predicate<NodeRow> which, Function<T, R> question) {
    SequencedMap<String, R> answers = new LinkedHashMap<>();
    beans.find(shape).ifPresent(own -> answers.put(node, question.apply(own)));
    Gathered<R> others = ofOthers(shape, which, question);
    answers.putAll(others.answers());
    return new Gathered<>(answers, others.silent());
  }

  private <T, R> Gathered<R> ofOthers(Class<T> shape, Predicate<NodeRow> which, Function<T, R> question) {
    SequencedMap<String, R> answers = new LinkedHashMap<>();
    SequencedMap<String, String> silent = new LinkedHashMap<>();
    List<NodeRow> others = nodes().stream().filter(which.and(row -> !row.id().equals(node))).toList();
    List<Callable<R>> questions = new ArrayList<>();
    for (NodeRow other : others) questions.add(() -> question.apply(proxy(shape, (method, arguments) -> ask(other.id(), shape, "", method, arguments))));
    try (var asking = Executors.newFixedThreadPool(AT_A_TIME, Thread.ofVirtual().name("dunlin-admin-peers").factory())) {
      List<Future<R>> asked = asking.invokeAll(questions, ALL_SECONDS, TimeUnit.SECONDS);
      for (int i = 0; i < asked.size(); i++) note(others.get(i).id(), asked.get(i), answers, silent);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw unanswered("the other nodes were not waited for any longer");
    }
    return new Gathered<>(answers, silent);
  }

  private <R> void note(String of, Future<R> asked, Map<String, R> answers, Map<String, String> silent) throws InterruptedException {
    try {
      answers.put(of, asked.get());
    } catch (CancellationException late) {
      silent.put(of, "%s was not waited for: all nodes have %d s together".formatted(named(of), ALL_SECONDS));
    } catch (ExecutionException failure) {
      switch (failure.getCause()) {
        case AbsentException _ -> {}
        case UncheckedIOException failed -> silent.put(of, String.valueOf(failed.getMessage()));
        case IllegalStateException refused -> silent.put(of, named(of) + " cannot answer: " + refused.getMessage());
        case RuntimeException wrong -> throw wrong;
        case null, default -> throw new IllegalStateException(failure);
      }
    }
  }

  /** A node by its id and, if that is known, its host, for a sentence. */
  String named(String of) {
    String host = nodes().stream().filter(row -> row.id().equals(of)).map(row -> " at " + row.host()).findFirst().orElse("");
    return "node " + of + host;
  }

  static UncheckedIOException unanswered(String sentence) {
    return new UncheckedIOException(sentence, new IOException(sentence));
  }

  private Object ask(String of, Class<?> shape, String range, Method method, Object[] arguments) {
    if (of.equals(node)) return askHere(shape, range, method, arguments);
    PeerCalls carrier = calls;
    if (carrier == null) throw unanswered(named(of) + " was not asked, since this node is starting");
    BeanQuestion.Answer answer;
    try {
      byte[] question = BeanQuestion.question(shape, range, method, arguments);
      boolean changes = CHANGES.stream().anyMatch(method.getName()::startsWith);
      answer = BeanQuestion.answer(carrier.ask(UUID.fromString(of), question, changes ? CHANGE : DEADLINE));
    } catch (IOException failure) {
      throw new UncheckedIOException(named(of) + " " + failure.getMessage(), failure);
    }
    return switch (answer) {
      case BeanQuestion.Answer.Value(var value) -> BeanQuestion.value(method, value);
      case BeanQuestion.Answer.Absent() -> throw new AbsentException();
      case BeanQuestion.Answer.Unknown() ->
          throw unanswered("%s does not know the operation %s of %s, since its version is another one".formatted(named(of), method.getName(), shape.getSimpleName()));
      case BeanQuestion.Answer.WrongArgument(var sentence) -> throw new IllegalArgumentException(sentence);
      case BeanQuestion.Answer.WrongState(var sentence) -> throw new IllegalStateException(sentence);
    };
  }

  private Object askHere(Class<?> shape, String range, Method method, Object[] arguments) {
    Object own = find(beans, shape, range).orElse(null);
    if (own == null) throw new AbsentException();
    return invoke(own, method, arguments);
  }

  private static Object invoke(Object bean, Method method, Object[] arguments) {
    try {
      return method.invoke(bean, arguments);
    } catch (InvocationTargetException thrown) {
      if (thrown.getCause() instanceof RuntimeException refused) throw refused;
      throw new IllegalStateException(thrown);
    } catch (IllegalAccessException impossible) {
      throw new IllegalStateException("the operations of MXBeans are public", impossible);
    }
  }

  private interface Asking {
    Object ask(Method method, Object[] arguments);
  }

  private static <T> T proxy(Class<T> shape, Asking asking) {
    InvocationHandler handler =
        (_, method, arguments) ->
            method.getDeclaringClass() == Object.class
                ? method.invoke(shape, arguments)
                : asking.ask(method, arguments == null ? new Object[0] : arguments);
    return shape.cast(Proxy.newProxyInstance(shape.getClassLoader(), new Class<?>[] {shape}, handler));
  }
}
