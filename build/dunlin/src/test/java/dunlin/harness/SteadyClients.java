package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Publishers that publish all the time, each to a topic of its own, and subscribers to all of them, while links are lost and leaders move. */
public final class SteadyClients {
  private static final int WINDOW = 10;
  private static final String END = "end";
  private static final String OVER = "steady/over";
  private static final Executor THREADS = Executors.newVirtualThreadPerTaskExecutor();

  /** A topic that is published to, and how many messages were in the end. */
  private record Publishing(String topic, int qos, CompletableFuture<Integer> count) {}

  private final List<Publishing> publishing = new ArrayList<>();
  private final Map<String, CompletableFuture<Map<String, List<String>>>> receiving = new LinkedHashMap<>();
  private final Map<String, CompletableFuture<List<String>>> receivingAtMostOnce = new LinkedHashMap<>();
  private volatile boolean stopped;
  private final AtomicInteger windows = new AtomicInteger();

  /** Publishes from now on. Any error fails the test. */
  public void publishes(String topic, int qos, RawClient client) {
    publishing.add(new Publishing(topic, qos, CompletableFuture.supplyAsync(() -> publish(topic, qos, client), THREADS)));
  }

  private int publish(String topic, int qos, RawClient client) {
    int count = 0;
    for (boolean last = false; !last; ) {
      last = stopped;
      for (int i = 1; i <= WINDOW; i++) client.publish(topic, qos, i, String.valueOf(count++));
      if (last) client.publish(topic, qos, WINDOW + 1, END);
      int sent = last ? WINDOW + 1 : WINDOW;
      answered(client, sent, qos == 1 ? RawClient.PUBACK : RawClient.PUBREC);
      if (qos == 2) {
        for (int i = 1; i <= sent; i++) client.pubrel(i);
        answered(client, sent, RawClient.PUBCOMP);
      }
      windows.incrementAndGet();
    }
    client.disconnect();
    return count;
  }

  private static void answered(RawClient client, int count, int type) {
    for (int i = 1; i <= count; i++) {
      var answer = client.expect(type);
      assertThat(answer.packetId()).isEqualTo(i);
      assertThat(answer.reason()).as("answer to packet %d", i).isLessThan(0x80);
    }
  }

  /** Receives from now on; subscribed to the topics of all publishers. */
  public void receives(String name, int topics, RawClient client) {
    receiving.put(name, CompletableFuture.supplyAsync(() -> receive(topics, client), THREADS));
  }

  private static Map<String, List<String>> receive(int topics, RawClient client) {
    var received = new HashMap<String, List<String>>();
    var ended = new HashSet<String>();
    while (ended.size() < topics) {
      var message = client.take();
      if (message.text().equals(END)) ended.add(message.topic());
      else received.computeIfAbsent(message.topic(), _ -> new ArrayList<>()).add(message.text());
    }
    return received;
  }

  /** Receives from now on, over a subscription with QoS 0: what comes may have gaps, and comes once. */
  public void receivesAtMostOnce(String name, RawClient client) {
    receivingAtMostOnce.put(name, CompletableFuture.supplyAsync(() -> receiveUntilOver(client), THREADS));
  }

  private static List<String> receiveUntilOver(RawClient client) {
    var received = new ArrayList<String>();
    for (var message = client.take(); !message.topic().equals(OVER); message = client.take()) received.add(message.topic() + " " + message.text());
    return received;
  }

  /** Ends those that receive at most once, and checks what they have received. Called after {@link #check}. */
  public void checkAtMostOnce(RawClient publisher) {
    assertThat(publisher.publishAndWait(OVER, OVER)).isZero();
    receivingAtMostOnce.forEach((name, all) -> assertThat(soon(name, all)).as(name).isNotEmpty().doesNotHaveDuplicates());
  }

  /** Returns once publishers have got further. */
  public void goOn() {
    int before = progress();
    await("publishers go on").atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(5)).until(() -> progress() > before + 5);
  }

  /** A number that grows while any publisher goes on. */
  public int progress() {
    for (Publishing each : publishing) if (each.count.isCompletedExceptionally()) each.count.join();
    return windows.get();
  }

  /** Ends the publishers and compares what they have published with what has come. */
  public void check() {
    stopped = true;
    for (Publishing each : publishing) soon(each.topic, each.count);
    receiving.forEach(
        (name, all) -> {
          var received = soon(name, all);
          for (Publishing each : publishing) check(name + " of " + each.topic, each.qos, each.count.join(), received.getOrDefault(each.topic, List.of()));
        });
  }

  private static <T> T soon(String who, CompletableFuture<T> future) {
    try {
      return future.orTimeout(2 * TestBroker.SOON.toSeconds(), TimeUnit.SECONDS).join();
    } catch (RuntimeException e) {
      throw new AssertionError(who, e);
    }
  }

  private static void check(String who, int qos, int count, List<String> received) {
    var first = new ArrayList<>(new LinkedHashSet<>(received));
    var expected = new ArrayList<String>();
    for (int i = 0; i < count; i++) expected.add(String.valueOf(i));
    assertThat(qos == 2 ? received : first).as(who).isEqualTo(expected);
  }
}
