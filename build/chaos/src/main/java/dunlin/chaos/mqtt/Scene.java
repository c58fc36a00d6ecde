package dunlin.chaos.mqtt;

import dunlin.chaos.LoopDisk;
import dunlin.chaos.mqtt.MqttClient.Profile;
import dunlin.chaos.mqtt.Probes.Kind;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The context of a row's script. */
final class Scene implements AutoCloseable {
  /*
   * Owner: the thread of the row.
   * Failure: a step that takes too long is a problem, which fails the row; the script continues.
   */
  private static final Logger log = LoggerFactory.getLogger(Scene.class);
  private static final Duration AGAIN_MAX = Duration.ofMinutes(1);
  private static final int AGAIN_ANSWERS = 50;
  /** How long a publisher may wait during a step. */
  private static final long GAP_MAX_MILLIS = 1_000;
  /** For what follows a step. */
  private static final int QUIET_MILLIS = 5_000;

  /** Something that is done to a cluster, until it has come to its end. */
  interface Step {
    void take() throws InterruptedException;
  }

  final Journal journal;
  final Random random;
  final int rounds;
  final int stormSessions;
  final List<String> problems = new ArrayList<>();
  final Map<String, String> figures = new LinkedHashMap<>();
  private final Service service;
  private final @Nullable LoopDisk disk;
  private final List<MqttClient> clients = new ArrayList<>();

  Scene(Journal journal, Service service, Random random, int rounds, int stormSessions, @Nullable LoopDisk disk) {
    this.journal = journal;
    this.service = service;
    this.random = random;
    this.rounds = rounds;
    this.stormSessions = stormSessions;
    this.disk = disk;
  }

  MqttBroker broker() {
    if (service instanceof MqttBroker broker) return broker;
    throw new IllegalStateException("there is more than one broker");
  }

  MqttCluster cluster() {
    if (service instanceof MqttCluster cluster) return cluster;
    throw new IllegalStateException("there is only one broker");
  }

  LoopDisk ownDisk() {
    if (disk == null) throw new IllegalStateException("the broker has no file system of its own");
    return disk;
  }

  /** An additional client, which is closed with the row. */
  MqttClient client(String id, int level, int expirySeconds) {
    return client(id, level, expirySeconds, service.entrance(new Random(id.hashCode())));
  }

  /** One that chooses its brokers otherwise. */
  MqttClient client(String id, int level, int expirySeconds, Entrance entrance) {
    var client = new MqttClient(journal, entrance, new Profile(id, level, expirySeconds, 1000, 500));
    clients.add(client);
    return client;
  }

  /**
   * Has clients do something, each on a thread of its own, and some at a time.
   *
   * @return how many have not done it with success within the time
   */
  static long each(List<MqttClient> clients, int atATime, Duration most, Predicate<MqttClient> task) throws InterruptedException {
    var permits = new Semaphore(atATime);
    var left = new CountDownLatch(clients.size());
    for (var client : clients) {
      permits.acquire();
      Thread.startVirtualThread(
          () -> {
            try {
              if (task.test(client)) left.countDown();
            } finally {
              permits.release();
            }
          });
    }
    var _ = left.await(most.toMillis(), TimeUnit.MILLISECONDS);
    return left.getCount();
  }

  void problem(String what) {
    problems.add(what);
  }

  void expect(boolean good, String otherwise) {
    if (!good) problem(otherwise);
  }

  void during(long millis) throws InterruptedException {
    Thread.sleep(millis);
    service.mustRun();
  }

  void struck() {
    journal.broker(Deed.STRUCK, 0, "");
  }

  /** A change of the cluster. */
  void struck(String what) {
    log.info(what);
    journal.broker(Deed.STRUCK, 0, what);
  }

  /** A fault of one broker of a cluster. */
  void struck(MqttCluster.Node node) {
    String note = "%s, which leads %s".formatted(node.name(), node.leads());
    log.info(note);
    journal.broker(Deed.STRUCK, node.number, note);
  }

  void healed() {
    journal.broker(Deed.HEALED, 0, "");
  }

  /** Kills and restarts the broker, and waits until publishers are answered again. */
  void killAndStart() throws InterruptedException {
    broker().kill();
    startAgain();
  }

  void startAgain() throws InterruptedException {
    long began = System.nanoTime();
    broker().start();
    answersAgain();
    outage(began);
    healed();
  }

  /** Notes how long new messages were not acknowledged. */
  void outage(long sinceNanos) {
    figures.merge("longest outage, ms", String.valueOf((System.nanoTime() - sinceNanos) / 1_000_000), Scene::larger);
  }

  static String larger(String a, String b) {
    return Long.parseLong(a) > Long.parseLong(b) ? a : b;
  }

  /** Takes a step while clients probe: one event of the history, and one line of the figures with their longest waits. Publishers must be answered within GAP_MAX_MILLIS. */
  void step(Probes probes, String name, Step step) throws InterruptedException {
    struck(name);
    probes.since(System.nanoTime());
    long began = System.nanoTime();
    step.take();
    during(QUIET_MILLIS);
    var waits = probes.since(System.nanoTime());
    figures.put(name + ": seconds; longest wait, ms", "%,d; %s".formatted((System.nanoTime() - began) / 1_000_000_000, waits));
    for (var kind : List.of(Kind.DURABLE, Kind.ONLINE)) {
      long waited = waits.getOrDefault(kind, 0L);
      expect(waited <= GAP_MAX_MILLIS, "%s: %s took %,d ms, %,d at most are wanted".formatted(name, kind, waited, GAP_MAX_MILLIS));
    }
    healed();
  }

  /** Waits until new messages are acknowledged. */
  void answersAgain() throws InterruptedException {
    long since = System.nanoTime();
    int from = journal.size();
    while (System.nanoTime() - since < AGAIN_MAX.toNanos()) {
      Thread.sleep(50);
      if (journal.count(from, each -> each instanceof Event.Acknowledged it && it.success()) >= AGAIN_ANSWERS) return;
    }
    problem("fewer than %d messages were acknowledged within %s".formatted(AGAIN_ANSWERS, AGAIN_MAX));
  }

  /** Connections closed by the broker, except after takeovers, since a position in the history. */
  long closedSince(int from) {
    return journal.count(from, each -> each instanceof Event.Ended it && it.how() == Event.End.BY_BROKER);
  }

  boolean await(Duration most, BooleanSupplier what) throws InterruptedException {
    long deadline = System.nanoTime() + most.toNanos();
    while (!what.getAsBoolean()) {
      if (System.nanoTime() > deadline) return false;
      Thread.sleep(20);
    }
    return true;
  }

  @Override
  public void close() {
    clients.forEach(MqttClient::close);
  }
}
