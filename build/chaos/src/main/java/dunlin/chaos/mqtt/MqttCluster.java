package dunlin.chaos.mqtt;

import dunlin.chaos.Links;
import dunlin.chaos.Site;
import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttBroker.Home;
import dunlin.chaos.mqtt.check.Drops;
import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.RangeRow;
import dunlin.placement.LeaderSpread;
import dunlin.store.RangeId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Processes with the same seeds, which are one broker for their clients: three equal ones, or stores, dist workers and frontends. */
public final class MqttCluster implements Service, AutoCloseable {
  /*
   * A client opens each connection at any of the processes that run and have a listener.
   *
   * Owner: the thread of the row; clients only use entrances.
   * Failure: a cluster without leaders within LEADERS_MAX fails the row.
   */
  private static final String ALL = "frontend,dist,retain,inbox,store";

  /** The roles of three equal brokers. */
  static final List<String> EQUAL = List.of(ALL, ALL, ALL);

  static final List<String> ONE_MORE_EQUAL = List.of(ALL);

  /** The roles of separate services. */
  static final List<String> SERVICES =
      List.of("store,retain,inbox", "store,retain,inbox", "store,retain,inbox", "dist", "dist", "frontend", "frontend");

  static final List<String> ONE_OF_EACH = List.of("store,retain,inbox", "dist", "frontend");
  static final List<String> ONE_WITH_REPLICAS_OF_EACH = List.of("store,retain,inbox", "dist");

  private static final String DIST = "dist";
  private static final String STORE = "store";
  private static final String FRONTEND = "frontend";
  private static final String ROUTES = "routes";
  private static final Duration LEADERS_MAX = Duration.ofMinutes(2);
  private static final Duration STOP_MAX = Duration.ofMinutes(1);
  /** A client does not wait for longer for a broker that is cut off. */
  private static final Duration CONNECT_MAX = Duration.ofSeconds(3);

  public static final String SESSION_RANGES = "dunlin.inbox.ranges";

  /** Ranges of a cluster beside those of sessions: the meta group, and one each of routes and retained messages. */
  private static final int OTHER_RANGES = 3;

  private static final Pattern QUARANTINED = Pattern.compile("^dunlin_store_quarantined\\{.*range=\"([^\"]+)\".*} 1\\.0$");
  private static final Pattern TERM = Pattern.compile("^dunlin_store_term\\{.*range=\"([^\"]+)\".*} (\\S+)$");
  private static final Pattern LEADS = Pattern.compile("^dunlin_store_leading\\{.*range=\"([^\"]+)\".*} 1\\.0$");

  /** One broker, over all its runs. */
  public final class Node {
    public final int number;
    public final String roles;
    public final Site site;
    public final MqttBroker broker;
    private volatile boolean running;
    /** What its earlier runs have counted. */
    private Drops earlier = Drops.NONE;
    /** What its present run had counted when it was left alone. */
    private Drops last = Drops.NONE;

    /** Operates the cluster at this broker. */
    public Operator operator() {
      return new Operator(broker.pid());
    }

    private Node(int number, String roles, Site site, MqttBroker broker) {
      this.number = number;
      this.roles = roles;
      this.site = site;
      this.broker = broker;
    }

    public String name() {
      return site.name();
    }

    void launch() {
      broker.launch();
    }

    void awaitListening() {
      broker.awaitListening();
      running = true;
    }

    /** It may end by itself from now on: it is not asked any more what it has counted. */
    public void leaveAlone() {
      if (!running) return;
      last = broker.drops();
      running = false;
    }

    /** Starts it again, and leaves it alone. */
    public void startAlone() {
      earlier = earlier.plus(last);
      last = Drops.NONE;
      broker.start();
    }

    /** It runs as before. */
    public void resume() {
      last = Drops.NONE;
      running = true;
    }

    public void start() {
      launch();
      awaitListening();
    }

    public void kill() {
      earlier = earlier.plus(broker.drops());
      running = false;
      broker.kill();
    }

    /** Has it stop by itself. */
    public void stop() {
      earlier = earlier.plus(broker.drops());
      running = false;
      broker.stop(STOP_MAX);
    }

    /** The process goes on, but has lost its disk: it only remains to be killed. */
    public void killWithoutAsking() {
      running = false;
      broker.kill();
    }

    /** Has its next runs be those of the distribution that is tried. */
    public void upgrade() {
      broker.runFrom(distribution);
    }

    /** Whether it says that it is ready for clients, as a load balancer would ask it. */
    public boolean ready() {
      return broker.ready();
    }

    public boolean isStore() {
      return roles.contains(STORE);
    }

    /** Whether leaders of routes are preferred to be here. */
    public boolean isMatcher() {
      return roles.contains(DIST);
    }

    public boolean hasClients() {
      return roles.contains(FRONTEND);
    }

    public boolean isFrontend() {
      return roles.equals(FRONTEND);
    }

    public boolean canHaveReplicas() {
      return !isFrontend();
    }

    /** Its name in the cluster. */
    public String id() {
      try (var operator = operator()) {
        return operator.cluster().getNode();
      }
    }

    /** The names of the ranges whose damaged files it has put aside. */
    public List<String> quarantined() {
      return broker.metrics("dunlin_store_quarantined").stream().map(QUARANTINED::matcher).filter(Matcher::find).map(line -> line.group(1)).toList();
    }

    /** How many lines of its log, over all its runs, contain a text. */
    public long logged(String text) {
      try (var lines = Files.lines(site.log())) {
        return lines.filter(line -> line.contains(text)).count();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Operates the cluster at it from its own network namespace; the answer in JSON. */
    public String ctl(String... command) {
      return broker.inItsNetwork(
          Stream.concat(
              Stream.of(distribution.resolve("bin").resolve("dunlinctl").toString(), "--access", site.data().resolve("admin-access").toString(), "--output", "json"),
              Stream.of(command)));
    }

    /** Whether no range lacks a replica, as far as it knows. A range with two replicas has no majority without one of them. */
    public boolean knowsAllReplicas() {
      return broker.metrics("dunlin_cluster_replicas_missing").stream().anyMatch(line -> line.endsWith(" 0.0"));
    }

    /** The names of the ranges that it has a replica of. */
    public List<String> replicas() {
      return broker.metrics("dunlin_store_term").stream().map(TERM::matcher).filter(Matcher::find).map(line -> line.group(1)).toList();
    }

    /** The names of the ranges that it leads. */
    public List<String> leads() {
      return broker.metrics("dunlin_store_leading").stream().map(LEADS::matcher).filter(Matcher::find).map(line -> line.group(1)).toList();
    }
  }

  private final Path distribution;
  private final List<Node> nodes = new ArrayList<>();
  private final int founders;
  private final int ranges;
  private final @Nullable Links links;

  /**
   * @param begins the distribution with which the processes begin
   * @param distribution the one that is tried
   * @param sites one for each process
   * @param roles those of each
   * @param spares how many of the last of them are not started with the others, and found nothing
   * @param links the network between the sites; null when they share the loopback device
   */
  MqttCluster(
      Path begins, Path distribution, List<Site> sites, List<String> roles, int spares, int heapMegabytes, Map<String, String> settings, @Nullable Links links,
      Journal journal) {
    this.distribution = distribution;
    this.links = links;
    ranges = OTHER_RANGES + Integer.parseInt(settings.getOrDefault(SESSION_RANGES, "1"));
    founders = sites.size() - spares;
    var seeds = new ArrayList<String>();
    for (int i = 0; i < founders; i++) if (roles.get(i).contains(STORE)) seeds.add(sites.get(i).host() + ":" + sites.get(i).servicePort());
    for (var site : sites) {
      var all = new LinkedHashMap<>(settings);
      String own = roles.get(nodes.size());
      all.put("dunlin.roles", own);
      all.put("dunlin.cluster.seeds", String.join(",", seeds));
      all.put("dunlin.cluster.bootstrap-expect", String.valueOf(seeds.size()));
      all.put("dunlin.cluster.host", site.host());
      all.put("dunlin.cluster.port", String.valueOf(site.raftPort()));
      all.put("dunlin.cluster.service-port", String.valueOf(site.servicePort()));
      if (links != null) {
        all.put("dunlin.cluster.bind", site.host());
        all.put("dunlin.cluster.plaintext", "true");
        all.put("dunlin.listeners.tcp.host", site.host());
        all.put("dunlin.auth.anonymous", "true");
      }
      var home = new Home(begins, site.data(), site.log(), site.host(), site.prefix(), site.environment(), heapMegabytes, all);
      nodes.add(new Node(nodes.size() + 1, own, site, new MqttBroker(home, site.fsync(), journal.lives(nodes.size() + 1))));
    }
  }

  /** Those that are started together, and make up the cluster. */
  public List<Node> nodes() {
    return nodes.subList(0, founders);
  }

  /** Those that run, spares included. */
  public List<Node> running() {
    return nodes.stream().filter(node -> node.running).toList();
  }

  /** Those that the row starts. */
  public List<Node> spares() {
    return nodes.subList(founders, nodes.size());
  }

  public Links links() {
    if (links == null) throw new IllegalStateException("the brokers share one network");
    return links;
  }

  /** Founds the cluster, and waits until it has settled. */
  void found() throws InterruptedException {
    startAll();
    settle();
  }

  /** Waits until all ranges have their replicas and the leaders are spread, which they are once after that. All brokers run. */
  public void settle() throws InterruptedException {
    long deadline = System.nanoTime() + LEADERS_MAX.toNanos();
    while (!nodes().stream().allMatch(Node::knowsAllReplicas) || !areLeadersSpread(leaders())) {
      if (System.nanoTime() > deadline) throw new TrialException("replicas are missing, or leaders are not spread: " + leaders());
      Thread.sleep(100);
    }
  }

  /** Whether each range has a leader, none is transferred any more, and a dist worker leads the routes, if there is one. */
  private boolean areLeadersSpread(Map<String, Node> leaders) {
    var led = leaders.values().stream().collect(Collectors.groupingBy(node -> node.number, Collectors.summingInt(_ -> 1)));
    boolean settled = leaders.entrySet().stream().noneMatch(each -> isRoutes(each.getKey()) && !each.getValue().isMatcher());
    var ofStores = nodes().stream().filter(Node::isStore).map(node -> led.getOrDefault(node.number, 0)).toList();
    return leaders.size() == ranges && settled && LeaderSpread.isEven(ofStores);
  }

  /** Whether each range has a leader, as far as the running processes tell. */
  public boolean isLed() {
    return isLedBy(running());
  }

  /** Whether each range has a leader among some processes, as far as these tell. */
  public boolean isLedBy(List<Node> some) {
    return some.stream().flatMap(node -> node.leads().stream()).distinct().count() == ranges;
  }

  /** Starts all of them at the same time: the first one alone would wait for the others. */
  public void startAll() {
    nodes().forEach(Node::launch);
    nodes().forEach(Node::awaitListening);
  }

  /** The leader of each range, by the range's name, as far as the running brokers tell. */
  public Map<String, Node> leaders() {
    var leaders = new TreeMap<String, Node>();
    for (var node : running()) for (String range : node.leads()) leaders.put(range, node);
    return leaders;
  }

  /** Whether a range of this name has routes. */
  public static boolean isRoutes(String range) {
    return range.startsWith(ROUTES);
  }

  /** Whether a node leads a range. If it does not, its operator asks for that, unless the cluster is changing something else just then. */
  public boolean lead(String range, Node node, Operator its) {
    if (leaders().get(range) == node) return true;
    if (!its.cluster().getOperations().isEmpty()) return false;
    try {
      transfer(range, its);
    } catch (IllegalStateException e) {
      // An operation has begun since, such as one that spreads leaders.
    }
    return false;
  }

  /** Asks for a transfer of a range's leadership to the broker of an operator; does not wait for it. */
  public void transfer(String range, Operator to) {
    var cluster = to.cluster();
    var _ = cluster.transferLeadership(range(cluster, range).id(), cluster.getNode());
  }

  /** The range of this name, as a node of the cluster knows it. */
  public RangeRow range(ClusterMXBean cluster, String name) {
    return cluster.getRanges().stream()
        .filter(each -> new RangeId(each.kind(), UUID.fromString(each.id())).toString().equals(name))
        .findFirst()
        .orElseThrow(() -> new TrialException("the cluster does not know " + name));
  }

  /** The sum of the terms of all ranges: it rises by one with each election. */
  public long terms() {
    var terms = new HashMap<String, Long>();
    for (var node : running()) {
      for (String line : node.broker.metrics("dunlin_store_term")) {
        Matcher matcher = TERM.matcher(line);
        if (matcher.find()) terms.merge(matcher.group(1), (long) Double.parseDouble(matcher.group(2)), Math::max);
      }
    }
    return terms.values().stream().mapToLong(Long::longValue).sum();
  }

  @Override
  public Entrance entrance(Random random) {
    return () -> {
      var reached = nodes.stream().filter(node -> node.running && node.broker.port() >= 0).toList();
      if (reached.isEmpty()) return Optional.empty();
      var node = reached.get(random.nextInt(reached.size()));
      return node.broker.entry(node.number, CONNECT_MAX);
    };
  }

  /** The listener of one of the brokers, while it runs. */
  public Entrance entrance(Node node) {
    return () -> node.running ? node.broker.entry(node.number, CONNECT_MAX) : Optional.empty();
  }

  @Override
  public void mustRun() {
    for (var node : running()) node.broker.mustRun();
  }

  @Override
  public Drops drops() {
    var all = Drops.NONE;
    for (var node : nodes) {
      all = all.plus(node.earlier).plus(node.last);
      if (node.running) all = all.plus(node.broker.drops());
    }
    return all;
  }

  @Override
  public long mendedRoutes() {
    return running().stream().mapToLong(node -> node.broker.mendedRoutes()).sum();
  }

  @Override
  public void close() {
    for (var node : nodes) {
      node.broker.close();
      var disk = node.site.disk();
      if (disk != null) disk.close();
    }
  }
}
