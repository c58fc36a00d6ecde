package dunlin.transport.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.transport.trace.Trace.Step;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is in a random sample of messages, by a real tracer. */
class MessageSampleTest {
  private static final String TENANT = "default";
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final Tracer tracer = new Tracer(InstantSource.system(), System::nanoTime);

  private static LongStream seeds() {
    return new Random().longs(5);
  }

  private static Publication message(String tenant, String topic) {
    return Publication.of(new Publisher(tenant, "p"), topic, QoS.AT_LEAST_ONCE, false, 0, new byte[3]);
  }

  private void publish(Publication message) {
    tracer.note("publish", Step.RECEIVED, "", message, null);
  }

  private static Map<String, Integer> byTopic(MessageSample sample) {
    Map<String, Integer> counts = new HashMap<>();
    for (MessageSample.Message each : sample.messages()) counts.merge(each.topic(), 1, Integer::sum);
    return counts;
  }

  @Test
  void fewMessagesAreAllInIt() {
    MessageSample sample = tracer.beginSample(TENANT, MINUTE);
    for (int i = 0; i < MessageSample.SIZE; i++) publish(message(TENANT, "t" + i));

    assertThat(byTopic(sample)).hasSize(MessageSample.SIZE);
    assertThat(sample.published()).isEqualTo(MessageSample.SIZE);
    assertThat(sample.messages().getFirst()).isEqualTo(new MessageSample.Message("t0", "p", 3));
  }

  @Test
  void onlyWhatComesInForItsTenantIsInIt() {
    MessageSample sample = tracer.beginSample(TENANT, MINUTE);
    publish(message("another", "a"));
    publish(message(TENANT, "$app/a"));
    tracer.note("session", Step.RECEIVED, "", message(TENANT, "a"), null);
    tracer.note("publish", Step.ANSWERED, "", message(TENANT, "a"), null);
    publish(message(TENANT, "b"));

    assertThat(byTopic(sample)).isEqualTo(Map.of("b", 1));
    assertThat(sample.published()).isEqualTo(1);
  }

  /** 40, 30, 20 and 6 % of the messages, and four topics with 1 %, shuffled: the order is right, and each share within six standard deviations. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void theBusiestAreRankedByTheirShares(long seed) {
    Map<String, Integer> percent = Map.of("first", 40, "second", 30, "third", 20, "fourth", 6, "a", 1, "b", 1, "c", 1, "d", 1);
    List<Publication> messages = new ArrayList<>();
    percent.forEach((topic, share) -> messages.addAll(Collections.nCopies(share * 1_000, message(TENANT, topic))));
    Collections.shuffle(messages, new Random(seed));
    MessageSample sample = tracer.beginSample(TENANT, MINUTE, new SplittableRandom(seed));

    messages.forEach(this::publish);

    assertThat(sample.published()).isEqualTo(100_000);
    assertThat(sample.messages()).hasSize(MessageSample.SIZE);
    Map<String, Integer> sampled = byTopic(sample);
    List<String> ranked = sampled.entrySet().stream().sorted(Map.Entry.<String, Integer>comparingByValue().reversed()).limit(4).map(Map.Entry::getKey).toList();
    assertThat(ranked).containsExactly("first", "second", "third", "fourth");
    percent.forEach((topic, share) -> assertThat(sampled.getOrDefault(topic, 0)).as(topic).satisfies(count -> assertShare(count, share / 100.0)));
  }

  private static void assertShare(int count, double share) {
    double expected = share * MessageSample.SIZE;
    double deviation = Math.sqrt(expected * (1 - share));
    assertThat((double) count).isBetween(expected - 6 * deviation, expected + 6 * deviation);
  }

  /** A sample of what comes first in each second would see only the burst. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void aBurstCountsForNoMoreThanItsMessages(long seed) {
    MessageSample sample = tracer.beginSample(TENANT, MINUTE, new SplittableRandom(seed));
    for (int i = 0; i < 10_000; i++) publish(message(TENANT, "burst"));
    for (int i = 0; i < 30_000; i++) publish(message(TENANT, "steady"));

    Map<String, Integer> sampled = byTopic(sample);
    assertShare(sampled.getOrDefault("burst", 0), 0.25);
    assertShare(sampled.getOrDefault("steady", 0), 0.75);
  }

  @Test
  void threadsShareIt() throws Exception {
    MessageSample sample = tracer.beginSample(TENANT, MINUTE);
    List<Thread> threads =
        IntStream.range(0, 4)
            .mapToObj(
                number ->
                    new Thread(
                        () -> {
                          for (int i = 0; i < 20_000; i++) publish(message(TENANT, "t" + number));
                        }))
            .toList();
    for (Thread each : threads) each.start();
    for (Thread each : threads) each.join();

    assertThat(sample.published()).isEqualTo(80_000);
    assertThat(sample.messages()).hasSize(MessageSample.SIZE);
    assertThat(byTopic(sample).keySet()).containsExactlyInAnyOrder("t0", "t1", "t2", "t3");
  }
}
