package dunlin.chaos.mqtt;

import dunlin.chaos.LoopDisk;
import dunlin.chaos.mqtt.MqttClient.Profile;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.MessageId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
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
public final class Scene implements AutoCloseable {
  /*
   * Owner: the thread of the row.
   * Failure: a step that takes too long is a problem, which fails the row; the script continues.
   */
  private static final Logger log = LoggerFactory.getLogger(Scene.class);
  private static final Duration AGAIN_MAX = Duration.ofMinutes(1);
  private static final int AGAIN_ANSWERS = 50;
  public final Journal journal;
  public final Random random;
  public final int rounds;
  public final int minutes;
  public final int stormSessions;
  public final List<String> problems = new ArrayList<>();
  public final Map<String, String> figures = new LinkedHashMap<>();
  private final Service service;
  private final @Nullable LoopDisk disk;
  private final List<MqttClient> clients = new ArrayList<>();

  Scene(Journal journal, Service service, Random random, Request request, @Nullable LoopDisk disk) {
    this.journal = journal;
    this.service = service;
    this.random = random;
    rounds = request.rounds();
    minutes = request.minutes();
    stormSessions = request.storm();
    this.disk = disk;
  }

  public MqttBroker broker() {
    if (service instanceof MqttBroker broker) return broker;
    throw new IllegalStateException("there is more than one broker");
  }

  public MqttCluster cluster() {
    if (service instanceof MqttCluster cluster) return cluster;
    throw new IllegalStateException("there is only one broker");
  }

  public LoopDisk ownDisk() {
    if (disk == null) throw new IllegalStateException("the broker has no file system of its own");
    return disk;
  }

  /** An additional client, which is closed with the row. */
  public MqttClient client(String id, int level, int expirySeconds) {
    return client(id, level, expirySeconds, service.entrance(new Random(id.hashCode())));
  }

  /** One that chooses its brokers otherwise. */
  public MqttClient client(String id, int level, int expirySeconds, Entrance entrance) {
    var client = new MqttClient(journal, entrance, new Profile(id, level, expirySeconds, 1000, 500));
    clients.add(client);
    return client;
  }

  /**
   * Has clients do something, each on a thread of its own, and some at a time.
   *
   * @return how many have not done it with success within the time
   */
  public static long each(List<MqttClient> clients, int atATime, Duration most, Predicate<MqttClient> task) throws InterruptedException {
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

  public void problem(String what) {
    problems.add(what);
  }

  public void expect(boolean good, String otherwise) {
    if (!good) problem(otherwise);
  }

  public void during(long millis) throws InterruptedException {
    Thread.sleep(millis);
    service.mustRun();
  }

  public void struck() {
    journal.broker(Deed.STRUCK, 0, "");
  }

  /** A change of the cluster. */
  public void struck(String what) {
    log.info(what);
    journal.broker(Deed.STRUCK, 0, what);
  }

  /** A fault of one broker of a cluster. */
  public void struck(MqttCluster.Node node) {
    String note = "%s, which leads %s".formatted(node.name(), node.leads());
    log.info(note);
    journal.broker(node.canHaveReplicas() ? Deed.STRUCK : Deed.STRUCK_FRONTEND, node.number, note);
  }

  public void healed() {
    journal.broker(Deed.HEALED, 0, "");
  }

  /** Kills and restarts the broker, and waits until publishers are answered again. */
  public void killAndStart() throws InterruptedException {
    broker().kill();
    startAgain();
  }

  public void startAgain() throws InterruptedException {
    long began = System.nanoTime();
    broker().start();
    answersAgain();
    outage(began);
    healed();
  }

  /** Notes how long new messages were not acknowledged. */
  public void outage(long sinceNanos) {
    figures.merge("longest outage, ms", String.valueOf((System.nanoTime() - sinceNanos) / 1_000_000), Scene::larger);
  }

  /** Waits until new messages are acknowledged, and notes how long they were not. */
  public void outage() throws InterruptedException {
    long began = System.nanoTime();
    answersAgain();
    outage(began);
  }

  /** The median time from a PUBLISH to its acknowledgement, of the messages that were sent since a position in the history, in milliseconds. */
  public long medianAnswer(int from) {
    var asked = new HashMap<MessageId, Long>();
    var waits = new ArrayList<Long>();
    for (var event : journal.since(from)) {
      if (event instanceof Event.Published it && it.qos() > 0) asked.putIfAbsent(it.id(), it.nanos());
      var since = event instanceof Event.Acknowledged it && it.success() ? asked.remove(it.id()) : null;
      if (since != null) waits.add((event.nanos() - since) / 1_000_000);
    }
    waits.sort(null);
    return waits.isEmpty() ? 0 : waits.get(waits.size() / 2);
  }

  /** Counts one more of something in the figures. */
  public void count(String what) {
    figures.merge(what, "1", (one, other) -> String.valueOf(Long.parseLong(one) + Long.parseLong(other)));
  }

  /** Counts one more strike of a soak, under its name. */
  public void countStrike(String name) {
    count(MqttReport.STRIKES + name);
  }

  static String larger(String a, String b) {
    return Long.parseLong(a) > Long.parseLong(b) ? a : b;
  }

  /** Waits until new messages are acknowledged. */
  public void answersAgain() throws InterruptedException {
    long since = System.nanoTime();
    int from = journal.size();
    while (System.nanoTime() - since < AGAIN_MAX.toNanos()) {
      Thread.sleep(50);
      if (journal.count(from, each -> each instanceof Event.Acknowledged it && it.success()) >= AGAIN_ANSWERS) return;
    }
    problem("fewer than %d messages were acknowledged within %s".formatted(AGAIN_ANSWERS, AGAIN_MAX));
  }

  /** The messages that a client has received without DUP. */
  public long received(String client) {
    return journal.count(0, each -> each instanceof Event.Received it && it.client().equals(client) && !it.dup());
  }

  /** Connections closed by the broker, except after takeovers, since a position in the history. */
  public long closedSince(int from) {
    return journal.count(from, each -> each instanceof Event.Ended it && it.how() == Event.End.BY_BROKER);
  }

  public boolean await(Duration most, BooleanSupplier what) throws InterruptedException {
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
