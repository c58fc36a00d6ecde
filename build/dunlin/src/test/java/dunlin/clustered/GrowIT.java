package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.BrokerProcess;
import dunlin.harness.MovingClient;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cluster of one broker grows to three and to five while clients publish, by the commands of docs/running.md; then the first broker is killed. */
class GrowIT {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String END = "end";
  private static final int TOPICS = 10;
  private static final String[] MEMBER = BrokerProcess.MEMBER.toArray(String[]::new);

  @TempDir Path directory;

  /** What one client publishes, one message after the other, each as the retained message of its topic. */
  private static final class Publishing {
    private final MovingClient client;
    private final AtomicInteger acknowledged = new AtomicInteger();
    private final AtomicBoolean ending = new AtomicBoolean();

    Publishing(MovingClient client) {
      this.client = client;
    }

    /** Returns once it is to end. */
    void run() {
      while (!ending.get()) {
        int number = acknowledged.get();
        client.publish(topic(number), String.valueOf(number), true);
        acknowledged.incrementAndGet();
      }
      client.publish("t/end", END, false);
    }

    /** Waits until more have been acknowledged that were published from now on. */
    void awaitMore() {
      int before = acknowledged.get();
      await("more acknowledged messages").atMost(LONG).until(() -> acknowledged.get() > before + 20);
    }
  }

  private static String topic(int number) {
    return "t/" + number % TOPICS;
  }

  private static Set<String> receivedUpToTheEnd(MovingClient subscriber) {
    var received = ConcurrentHashMap.<String>newKeySet();
    for (String text = subscriber.receive(); !text.equals(END); text = subscriber.receive()) received.add(text);
    return received;
  }

  @Test
  void aClusterOfOneGrowsToFiveAndGoesOnWithoutItsFirstBroker() throws Exception {
    try (var cluster = DocumentedCluster.of(Path.of("../../docs/running.md"), "### Grow a cluster", "bin/dunlin", directory);
        var threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().daemon().factory())) {
      assertThat(cluster.size()).isEqualTo(5);
      var first = cluster.launch(MEMBER).awaitStarted(LONG);
      await("two more of each of the four ranges are missing").atMost(LONG).until(() -> first.metric("dunlin_cluster_replicas_missing") == 8);
      var subscriber = new MovingClient(cluster.brokers(), Connect.of("subscriber"), 0);
      subscriber.subscribe("t/+");
      var publishing = new Publishing(new MovingClient(cluster.brokers(), Connect.of("publisher").clean().expiry(0), 0));
      var published = CompletableFuture.runAsync(publishing::run, threads);
      var received = CompletableFuture.supplyAsync(() -> receivedUpToTheEnd(subscriber), threads);
      publishing.awaitMore();

      for (int nodes : new int[] {3, 5}) {
        while (cluster.brokers().size() < nodes) cluster.launch(MEMBER);
        for (var broker : cluster.brokers()) broker.awaitStarted(LONG);
        for (var broker : cluster.brokers()) broker.awaitReplicas(nodes);
        publishing.awaitMore();
      }

      first.kill();
      publishing.awaitMore();
      publishing.ending.set(true);
      published.join();

      var all = new LinkedHashSet<String>();
      var last = new TreeMap<String, String>();
      for (int i = 0; i < publishing.acknowledged.get(); i++) {
        all.add(String.valueOf(i));
        last.put(topic(i), String.valueOf(i));
      }
      assertThat(received.join()).isEqualTo(all);
      for (int broker = 1; broker < 5; broker++) assertThat(retained(cluster, broker)).as("broker %d", broker).isEqualTo(last);
    }
  }

  private static Map<String, String> retained(DocumentedCluster cluster, int broker) {
    try (var reader = new MovingClient(cluster.brokers(), Connect.of("reader-" + broker).clean().expiry(0), broker, 0)) {
      return reader.tries(
          "retained messages",
          from -> {
            var retained = new HashMap<String, String>();
            from.subscribe("t/+", 1);
            while (retained.size() < TOPICS) {
              var publish = from.next(RawClient.PUBLISH);
              retained.put(publish.topic(), publish.text());
            }
            return retained;
          });
    }
  }
}
