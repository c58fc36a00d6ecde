package dunlin.chaos.mqtt;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttClient.Draft;
import dunlin.chaos.mqtt.MqttClient.Profile;
import dunlin.chaos.mqtt.MqttClient.Taking;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The clients of a row: about thirty, each with a virtual thread and habits of its own, chosen by the row's seed. */
final class Load implements AutoCloseable {
  /*
   * Owner: the thread of the row starts and stops it; each client is used by one virtual thread, and after stop() by
   * the row's.
   * Bounds: the clients are a fixed number; each publisher has a window and a rate.
   * Failure: an error in a client's thread is reported as a problem of the row.
   */
  private static final Duration COME_MAX = Duration.ofMinutes(2);
  private static final int FOREVER = 86_400;
  private static final int TOPICS = 4;
  private static final int BYTES = 120;

  /** What a client does with a connection; called repeatedly until the load stops. */
  interface Habit {
    void once(MqttClient client, Random random) throws InterruptedException;
  }

  private final Journal journal;
  private final Service service;
  private final long seed;
  private final int pauseMillis;
  private final List<MqttClient> clients = new ArrayList<>();
  private final List<MqttClient> stayers = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private final List<Thread> publishing = new ArrayList<>();
  private final List<String> problems = new ArrayList<>();
  private List<String> away = List.of();
  private final Set<String> retained = ConcurrentHashMap.newKeySet();
  private volatile boolean publishers = true;
  private volatile boolean running = true;

  /** @param pauseMillis the average pause of each publisher between two messages */
  Load(Journal journal, Service service, long seed, int pauseMillis) {
    this.journal = journal;
    this.service = service;
    this.seed = seed;
    this.pauseMillis = pauseMillis;
  }

  synchronized List<String> problems() {
    return List.copyOf(problems);
  }

  /** Starts all clients: subscribers first, and publishers once those have a session. */
  void start() throws InterruptedException {
    for (int qos = 0; qos <= 2; qos++) {
      stayer("sub-" + qos + "-3", 4, FOREVER, churning("d/#", qos));
      stayer("sub-" + qos + "-5", 5, FOREVER, churning("d/+", qos));
      stayer("on-" + qos, qos == 1 ? 4 : 5, 0, steady("d/#", qos));
    }
    stayer("overlap", 5, FOREVER, overlapping());
    stayer("slow", 5, FOREVER, steady("d/1", 1)).take(Taking.slowly(Duration.ofMillis(5)));
    stayer("silent", 5, FOREVER, steady("d/2", 2)).take(Taking.NEVER);
    stayer("twin", 5, FOREVER, twin("d/#", 2));
    stayer("watcher", 5, FOREVER, steady("w/#", 2));
    stayer("brief", 5, FOREVER, churning("e/#", 1));
    stayer("share-on-1", 4, 0, steady("$share/on/s/#", 1));
    stayer("share-on-2", 5, 0, steady("$share/on/s/#", 2));
    stayer("share-leaving-1", 5, 0, steady("$share/leaving/s/#", 1));
    stayer("share-leaving-2", 4, 0, churning("$share/leaving/s/#", 1));
    for (int i = 0; i < 3; i++) {
      stayer("share-durable-" + i, i == 1 ? 4 : 5, FOREVER, i == 0 ? steady("$share/durable/s/#", 2) : churning("$share/durable/s/#", i));
      stayer("share-ordered-" + i, 5, FOREVER, steady("$oshare/ordered/s/#", 2));
    }
    stayer("share-mixed-1", 5, FOREVER, steady("$share/mixed/s/#", 1));
    stayer("share-mixed-2", 5, 0, churning("$share/mixed/s/#", 1));
    long deadline = System.nanoTime() + COME_MAX.toNanos();
    for (var client : stayers)
      while (!client.connected()) {
        if (System.nanoTime() > deadline) throw new TrialException(client.id() + " has not come within " + COME_MAX);
        Thread.sleep(20);
      }
    Thread.sleep(500);

    runner("switch", 5, 0, this::switching);
    runner("mayfly", 5, 2, this::mayfly);
    for (int i = 0; i < 3; i++) runner("new-" + i, 5, 0, this::readRetained);
    runner("will-5", 5, FOREVER, (client, random) -> withWill(client, random, 0));
    runner("will-5-delayed", 5, FOREVER, (client, random) -> withWill(client, random, 2));
    runner("will-3", 4, FOREVER, (client, random) -> withWill(client, random, 0));
    runner("will-online", 4, 0, (client, random) -> withWill(client, random, 0));
    for (int qos = 0; qos <= 2; qos++) {
      publisher("pub-" + qos + "-3", 4, FOREVER, qos);
      publisher("pub-" + qos + "-5", 5, FOREVER, qos);
      publisher("pub-" + qos + "-on", qos == 1 ? 5 : 4, 0, qos);
    }
    for (int i = 0; i < 2; i++) writer(i);
  }

  private MqttClient stayer(String id, int level, int expiry, Habit habit) {
    var client = runner(id, level, expiry, habit);
    stayers.add(client);
    return client;
  }

  private MqttClient client(Profile profile) {
    return new MqttClient(journal, service.entrance(new Random(seed * 37 + profile.id().hashCode())), profile);
  }

  private MqttClient runner(String id, int level, int expiry, Habit habit) {
    var client = client(new Profile(id, level, expiry, 200, 32));
    clients.add(client);
    threads.add(run(client, habit, false));
    return client;
  }

  private void publisher(String id, int level, int expiry, int qos) {
    var client = client(new Profile(id, level, expiry, 100, 16));
    clients.add(client);
    publishing.add(run(client, (own, random) -> publish(own, random, qos), true));
  }

  private Thread run(MqttClient client, Habit habit, boolean publishes) {
    var random = new Random(seed * 31 + client.id().hashCode());
    return Thread.startVirtualThread(
        () -> {
          try {
            while (publishes ? publishers : running) habit.once(client, random);
          } catch (InterruptedException e) {
            // Stopped.
          } catch (RuntimeException e) {
            if (running) problem(client.id() + ": " + e);
          }
        });
  }

  private synchronized void problem(String what) {
    problems.add(what);
  }

  /**
   * Stops publishers, once all their messages are acknowledged, and temporary clients. All remaining clients receive what waits for them once they have {@linkplain #comeBack come back}.
   */
  void stop() throws InterruptedException {
    publishers = false;
    for (var thread : publishing) if (!thread.join(Duration.ofSeconds(90))) problem("a publisher has not come to its end");
    running = false;
    for (var thread : threads) thread.interrupt();
    for (var thread : threads) if (!thread.join(Duration.ofSeconds(70))) problem("a client has not come to its end");
    for (var client : clients) if (!stayers.contains(client)) client.close();
    for (var client : stayers) {
      client.take(Taking.AT_ONCE);
      // Messages that it has not acknowledged are resent on the next connection only.
      if (client.id().equals("silent")) client.abandon();
    }
  }

  /**
   * Connects those clients again whose broker has ended their connection after {@link #stop()}, such as one that learns only then that it was
   * cut off. The next call tries again what fails. That may take a minute for each, while nothing else is received.
   *
   * @return whether one was not connected: it has come now, and what waits for it may come, or it is still away
   */
  boolean comeBack() {
    boolean all = true;
    var still = new ArrayList<String>();
    for (var client : stayers) {
      if (client.connected()) continue;
      all = false;
      if (!client.connect(false)) still.add(client.id());
    }
    away = still;
    return !all;
  }

  /** Those that the last call of {@link #comeBack()} could not connect. */
  List<String> away() {
    return away;
  }

  @Override
  public void close() {
    publishers = false;
    running = false;
    for (var thread : threads) thread.interrupt();
    for (var thread : publishing) thread.interrupt();
    clients.forEach(MqttClient::close);
  }

  // ------------------------------------------------------------------------------------------------------------ habits

  /** Connects, or waits a little before the next attempt. */
  private static boolean come(MqttClient client, boolean clean) throws InterruptedException {
    if (client.connected() || client.connect(clean)) return true;
    Thread.sleep(50);
    return false;
  }

  private static void end(MqttClient client, Random random) {
    if (random.nextBoolean()) client.abandon();
    else client.disconnect();
  }

  private Habit steady(String filter, int qos) {
    boolean[] subscribed = new boolean[1];
    return (client, _) -> {
      boolean online = client.online();
      if (client.connected() && subscribed[0]) {
        Thread.sleep(20);
        return;
      }
      if (!come(client, false)) return;
      if (online || !subscribed[0]) subscribed[0] = client.subscribe(filter, qos);
    };
  }

  private Habit churning(String filter, int qos) {
    var steady = steady(filter, qos);
    return (client, random) -> {
      while (!client.connected()) steady.once(client, random);
      steady.once(client, random);
      Thread.sleep(random.nextInt(300, 3000));
      end(client, random);
      Thread.sleep(random.nextInt(0, 1000));
    };
  }

  private Habit overlapping() {
    var first = steady("d/#", 1);
    boolean[] second = new boolean[1];
    return (client, random) -> {
      first.once(client, random);
      if (!second[0] && client.connected()) second[0] = client.subscribe("d/1", 2);
    };
  }

  /** Opens its next connection while the previous one is open. */
  private Habit twin(String filter, int qos) {
    var steady = steady(filter, qos);
    return (client, random) -> {
      steady.once(client, random);
      Thread.sleep(random.nextInt(200, 1500));
      if (client.connected()) client.connect(false);
    };
  }

  private void switching(MqttClient client, Random random) throws InterruptedException {
    if (!come(client, true)) return;
    client.subscribe("d/#", 1);
    Thread.sleep(random.nextInt(50, 500));
    client.unsubscribe("d/#");
    Thread.sleep(random.nextInt(50, 300));
    if (random.nextInt(5) == 0) end(client, random);
  }

  private void mayfly(MqttClient client, Random random) throws InterruptedException {
    if (!come(client, false)) return;
    client.subscribe("m/#", 1);
    end(client, random);
    Thread.sleep(random.nextInt(4) == 0 ? 5000 : random.nextInt(100, 1800));
  }

  private void withWill(MqttClient client, Random random, int delaySeconds) throws InterruptedException {
    if (!client.connectWithWill(false, "w/" + client.id(), delaySeconds)) {
      Thread.sleep(50);
      return;
    }
    Thread.sleep(random.nextInt(20, 400));
    if (random.nextInt(3) == 0) return; // the next connection takes this one over
    end(client, random);
    Thread.sleep(random.nextInt(3) == 0 ? 6500 : random.nextInt(0, 1500));
  }

  private void publish(MqttClient client, Random random, int qos) throws InterruptedException {
    if (!come(client, false)) return;
    int kind = random.nextInt(20);
    String topic = (kind < 5 ? "s/" : "d/") + random.nextInt(TOPICS);
    if (kind == 19 && qos > 0 && client.canExpire()) client.publish(new Draft("e/" + client.id(), qos, BYTES, false, false, random.nextInt(1, 4)));
    else client.publish(Draft.of(topic, qos, BYTES));
    if (random.nextInt(400) == 0) end(client, random);
    else if (random.nextInt(400) == 0) client.connect(false); // while the other connection is open
    if (!publishers) client.awaitAcknowledged(Duration.ofMinutes(1));
    Thread.sleep(random.nextInt(2 * pauseMillis + 1));
    while (!publishers && client.unacknowledged() > 0 && come(client, false)) client.awaitAcknowledged(Duration.ofMinutes(1));
  }

  /** Writes increasing values, and sometimes deletes; each once the previous one is acknowledged. */
  private void writer(int number) {
    var client = client(new Profile("writer-" + number, 5, FOREVER, 100, 1));
    clients.add(client);
    publishing.add(
        run(
            client,
            (own, random) -> {
              if (!come(own, false)) return;
              String topic = "r/" + number + "/" + random.nextInt(3);
              // The third topic of each writer always has a value.
              boolean delete = random.nextInt(8) == 0 && !topic.endsWith("2");
              // Before it is sent: a subscriber waits for each topic that may have been acknowledged by then.
              if (delete) retained.remove(topic);
              else retained.add(topic);
              long sent = own.publish(new Draft(topic, 1 + number, BYTES, true, delete, -1));
              while (sent > 0 && own.unacknowledged() > 0 && come(own, false)) own.awaitAcknowledged(Duration.ofMinutes(1));
              Thread.sleep(random.nextInt(12));
            },
            true));
  }

  private void readRetained(MqttClient client, Random random) throws InterruptedException {
    if (!client.connect(true)) {
      Thread.sleep(50);
      return;
    }
    client.seen().clear();
    if (client.subscribe("r/#", 1)) {
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (client.connected() && System.nanoTime() < deadline && !client.seen().containsAll(retained)) Thread.sleep(10);
      Thread.sleep(random.nextInt(300));
      client.disconnect();
    }
    Thread.sleep(random.nextInt(50));
  }
}
