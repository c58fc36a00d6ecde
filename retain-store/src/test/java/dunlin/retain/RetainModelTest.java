package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The retain tier against a map of topics, under a seeded schedule of sets, clears, expiry, pages and restarts. */
class RetainModelTest {
  private static final int MESSAGES_MAX = 150;

  private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
  private final Map<String, Publication> model = new HashMap<>();
  private long nowMillis = 1_000_000;
  private final FakeRange.Rows rows = new FakeRange.Rows();
  private RetainServer server = open();

  static LongStream seeds() {
    return LongStream.rangeClosed(1, 30);
  }

  @AfterEach
  void close() {
    scheduler.shutdownNow();
  }

  private RetainServer open() {
    var settings = new RetainSettings(Messages.atMost(MESSAGES_MAX), Duration.ofSeconds(1), 20);
    return new RetainServer(
        (_, codec, logic) -> new FakeRange<>(codec, logic, rows),
        List.of(),
        settings,
        new SimpleMeterRegistry(),
        () -> Instant.ofEpochMilli(nowMillis),
        scheduler);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void behavesAsAMapOfTopics(long seed) {
    Topics topics = new Topics(seed);
    Random random = topics.random();
    for (int step = 0; step < 1500; step++) {
      String at = "seed " + seed + ", step " + step;
      int dice = random.nextInt(100);
      if (dice < 55) set(topics.topic(), "payload " + step, random, at);
      else if (dice < 75) clear(topics.topic(), at);
      else if (dice < 96) find(topics.filter(), random, at);
      else if (dice < 98) nowMillis += random.nextInt(5000);
      else server = open();
    }
    find("#", random, "seed " + seed + ", end");
    find("$/#", random, "seed " + seed + ", end");
    find("$SYS/#", random, "seed " + seed + ", end");
  }

  private void set(String topic, String payload, Random random, String at) {
    Publication message =
        random.nextInt(3) == 0
            ? Messages.expiring(topic, payload, nowMillis - random.nextInt(1000), random.nextInt(8))
            : Messages.message(topic, payload);
    // An expired message counts until it is found, so only the rows show whether the limit is reached.
    boolean full = rows.size() >= MESSAGES_MAX && rows.get(TopicKeys.of(message)) == null;
    server.set(
        message,
        answer -> assertThat(answer).as(at).isEqualTo(full ? ReasonCode.QUOTA_EXCEEDED : ReasonCode.SUCCESS));
    if (!full) model.put(topic, message);
  }

  private void clear(String topic, String at) {
    server.set(Messages.message(topic, ""), answer -> assertThat(answer).as(at).isEqualTo(ReasonCode.SUCCESS));
    model.remove(topic);
  }

  private void find(String filter, Random random, String at) {
    Map<String, String> expected = new HashMap<>();
    model.forEach(
        (topic, message) -> {
          boolean found = TopicFilter.plain(filter).matches(topic) && !message.expired(nowMillis);
          if (found) expected.put(topic, Messages.payload(message));
        });

    Map<String, String> found = new HashMap<>();
    Cursor cursor = null;
    do {
      int messagesMax = 1 + random.nextInt(40);
      Page page = server.find(Messages.TENANT, filter, cursor, messagesMax, random.nextInt(2000)).join();
      assertThat(page.messages()).as(at).hasSizeLessThanOrEqualTo(messagesMax);
      for (Publication message : page.messages()) {
        assertThat(found.put(message.topic(), Messages.payload(message))).as(at).isNull();
      }
      cursor = page.next();
    } while (cursor != null);
    assertThat(found).as("%s, filter %s", at, filter).isEqualTo(expected);
  }
}
