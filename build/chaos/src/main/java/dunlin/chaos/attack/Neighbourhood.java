package dunlin.chaos.attack;

import dunlin.chaos.mqtt.Entrance;
import dunlin.chaos.mqtt.Journal;
import dunlin.chaos.mqtt.MqttBroker;
import dunlin.chaos.mqtt.MqttClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The clients of all tenants but the one that floods: each tenant has a small steady load, and all that they do and see is in a {@link Journal}. */
final class Neighbourhood implements AutoCloseable {
  /*
   * Each tenant has its own listener, which says the tenant of its clients, so no client needs credentials. Topics and client identifiers are different in each
   * tenant only because the checker of histories knows no tenants.
   *
   * Owner: the thread of the row; each publisher and each visitor has a virtual thread.
   * Bounds: four clients for each tenant; those of the journal.
   * Failure: a client that cannot connect or subscribe in the beginning fails the row. Later the history tells what was not answered.
   */
  static final int TENANTS = 64;

  /** What one tenant does in a second. */
  static final int MESSAGES_A_SECOND = 10;

  static final int VISITS_A_SECOND = 1;

  /** One message in this many is retained. */
  private static final int RETAINED_EACH = 5;

  private static final int BYTES = 100;
  private static final long FOREVER = 86_400;
  private static final int WINDOW = 5_000;
  private static final Duration SETTLE_MAX = Duration.ofSeconds(30);

  private final Journal journal;
  private final List<MqttClient> clients = new ArrayList<>();
  private final List<MqttClient> publishers = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean running = true;

  Neighbourhood(Journal journal) {
    this.journal = journal;
  }

  /** The name of a tenant and of its listener; 0 is the one that floods. */
  static String tenant(int number) {
    return "t%02d".formatted(number);
  }

  /** The settings of a broker with a listener for each tenant. */
  static Map<String, String> settings() {
    var settings = new TreeMap<String, String>();
    for (int i = 0; i < TENANTS; i++) {
      settings.put("dunlin.listeners." + tenant(i) + ".port", "0");
      settings.put("dunlin.listeners." + tenant(i) + ".tenant", tenant(i));
    }
    return settings;
  }

  /** Connects and subscribes all clients, and then begins to publish and to visit. */
  void start(MqttBroker broker) {
    for (int i = 1; i < TENANTS; i++) {
      String tenant = tenant(i);
      var entrance = broker.entrance(tenant);
      var online = client(tenant + "-online", entrance, 0);
      var durable = client(tenant + "-durable", entrance, FOREVER);
      var publisher = client(tenant + "-publisher", entrance, 0);
      publishers.add(publisher);
      boolean ready = online.connect(true) && online.subscribe(data(tenant), 0) && durable.connect(true) && durable.subscribe(data(tenant), 1) && publisher.connect(true);
      if (!ready) throw new IllegalStateException("the clients of the tenant " + tenant + " cannot connect");
    }
    for (int i = 1; i < TENANTS; i++) {
      String tenant = tenant(i);
      var publisher = publishers.get(i - 1);
      var visitor = client(tenant + "-visitor", broker.entrance(tenant), 0);
      repeat(i, MESSAGES_A_SECOND, number -> publish(publisher, tenant, number));
      repeat(i, VISITS_A_SECOND, _ -> visit(visitor, tenant));
    }
  }

  private MqttClient client(String id, Entrance entrance, long expirySeconds) {
    var client = new MqttClient(journal, entrance, new MqttClient.Profile(id, 5, expirySeconds, 1_000, WINDOW));
    clients.add(client);
    return client;
  }

  private static String data(String tenant) {
    return tenant + "/data";
  }

  private static void publish(MqttClient publisher, String tenant, long number) {
    boolean retain = number % RETAINED_EACH == 0;
    publisher.publish(new MqttClient.Draft(retain ? tenant + "/state" : data(tenant), 1, BYTES, retain, false, -1));
  }

  private static void visit(MqttClient visitor, String tenant) {
    if (visitor.connect(true) && visitor.subscribe(tenant + "/visits/+", 1)) visitor.disconnect();
  }

  private interface Deed {
    void act(long number);
  }

  /** Repeats a deed so many times a second, the tenants one after the other. What took too long is not made up for. */
  private void repeat(int tenant, int perSecond, Deed deed) {
    long period = TimeUnit.SECONDS.toNanos(1) / perSecond;
    long first = System.nanoTime() + period * tenant / TENANTS;
    threads.add(
        Thread.startVirtualThread(
            () -> {
              long due = first;
              for (long number = 0; running; number++) {
                for (long left; (left = due - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
                deed.act(number);
                due = Math.max(due + period, System.nanoTime());
              }
            }));
  }

  /** Ends all publishing and visiting, and waits for what is acknowledged; whether all is. */
  boolean stop() throws InterruptedException {
    running = false;
    for (var thread : threads) thread.join();
    boolean all = true;
    for (var publisher : publishers) all &= publisher.awaitAcknowledged(SETTLE_MAX);
    return all;
  }

  @Override
  public void close() {
    running = false;
    clients.forEach(MqttClient::close);
  }
}
