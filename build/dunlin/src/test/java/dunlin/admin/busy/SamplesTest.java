package dunlin.admin.busy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.admin.busy.QueuesMXBean.QueueRow;
import dunlin.admin.busy.SamplesMXBean.SampledRow;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.transport.trace.MessageSample;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Samples by a real tracer, to which the test notes what a frontend would note; and queues by meters. */
class SamplesTest {
  private static final String TENANT = "default";

  private final Tracer tracer = new Tracer(InstantSource.system(), System::nanoTime);
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Samples samples = new Samples(tracer);

  private void publish(String client, String topic, int bytes) {
    publish(TENANT, client, topic, bytes);
  }

  private void publish(String tenant, String client, String topic, int bytes) {
    Publication message = Publication.of(new Publisher(tenant, client), topic, QoS.AT_LEAST_ONCE, false, 0, new byte[bytes]);
    tracer.note("publish", Step.RECEIVED, "", message, null);
    tracer.note("session", Step.RECEIVED, "", message, null);
  }

  /** Begins a sample, and answers when it sees messages. */
  private CompletableFuture<List<SampledRow>> sampling(SampledBy by, int max) {
    CompletableFuture<List<SampledRow>> rows = CompletableFuture.supplyAsync(() -> samples.sample(TENANT, by, max));
    await().atMost(Duration.ofMinutes(1)).until(tracer::runs);
    return rows;
  }

  @Test
  void whatIsPublishedMostComesFirst() {
    publish("before", "before", 1);
    CompletableFuture<List<SampledRow>> sample = sampling(SampledBy.TOPIC, 2);
    for (int i = 0; i < 6; i++) publish("meter-1", "busy", 10);
    for (int i = 0; i < 3; i++) publish("meter-2", "some", 7);
    publish("meter-3", "rare", 1);

    List<SampledRow> rows = sample.join();
    assertThat(rows).extracting(SampledRow::name).containsExactly("busy", "some");
    assertThat(rows).extracting(SampledRow::sampled).containsExactly(6, 3);
    assertThat(rows).extracting(SampledRow::sharePercent).containsExactly(60.0, 30.0);
    assertThat(rows).extracting(SampledRow::payloadBytes).containsExactly(60L, 21L);
    assertThat(rows.getFirst().perSecond()).as("six in a second, or a little more on a busy machine").isBetween(0.1, 6.0);
  }

  @Test
  void publishersAreCountedByTheirClientIdentifiers() {
    CompletableFuture<List<SampledRow>> sample = sampling(SampledBy.CLIENT, 100);
    publish("meter-1", "a", 1);
    publish("meter-2", "b", 1);
    publish("meter-2", "c", 1);

    assertThat(sample.join()).extracting(SampledRow::name).containsExactly("meter-2", "meter-1");
  }

  /** All messages are counted, and what another tenant publishes is not. */
  @Test
  void aBusyNodeIsEstimatedFromAPart() {
    await("a sample during which the machine does not stand still").atMost(Duration.ofMinutes(1)).untilAsserted(this::estimatesFromAPart);
  }

  private void estimatesFromAPart() {
    CompletableFuture<List<SampledRow>> sample = sampling(SampledBy.TOPIC, 10);
    int all = 0;
    while (!sample.isDone()) {
      for (int i = 0; i < 3; i++) publish("meter", "busy", 1);
      publish("meter", "other", 1);
      for (int i = 0; i < 8; i++) publish("another", "meter", "busy", 1);
      all += 4;
    }

    List<SampledRow> rows = sample.join();
    assertThat(rows).extracting(SampledRow::name).containsExactly("busy", "other");
    assertThat(rows.stream().mapToInt(SampledRow::sampled).sum()).as("of %d", all).isEqualTo(MessageSample.SIZE);
    assertThat(rows.getFirst().sharePercent()).as("six standard deviations").isBetween(70.0, 80.0);
    assertThat(rows.getFirst().perSecond()).as("three of four of %d messages", all).isBetween(all * 0.70 / 10, all * 0.81);
  }

  @Test
  void nothingIsLeftOfASample() {
    assertThat(sampling(SampledBy.TOPIC, 10).join()).isEmpty();
    assertThat(tracer.runs()).isFalse();
    assertThat(tracer.all()).isEmpty();
  }

  @Test
  void oneSampleIsTakenAtATime() {
    CompletableFuture<List<SampledRow>> sample = sampling(SampledBy.TOPIC, 10);
    assertThatThrownBy(() -> samples.sample(TENANT, SampledBy.TOPIC, 10)).isInstanceOf(IllegalStateException.class).hasMessageContaining("another sample");
    sample.join();
    assertThat(sampling(SampledBy.TOPIC, 10).join()).as("the next one").isEmpty();
  }

  @Test
  void anOperatorsTracesDoNotGiveWayToASample() {
    for (int i = 0; i < Tracer.TRACES_MAX; i++) tracer.begin("t" + i, TENANT, "", "a", "", Duration.ofMinutes(1));
    tracer.end("t0");
    CompletableFuture<List<SampledRow>> sample = CompletableFuture.supplyAsync(() -> samples.sample(TENANT, SampledBy.TOPIC, 10));
    await().atMost(Duration.ofMinutes(1)).until(() -> tracer.count() == Tracer.TRACES_MAX);
    publish("meter", "b", 1);

    assertThat(sample.join()).extracting(SampledRow::name).containsExactly("b");
    assertThat(tracer.all()).extracting(Trace::id).containsExactly("t0", "t1", "t2", "t3");
    assertThat(tracer.count()).as("those that run").isEqualTo(Tracer.TRACES_MAX - 1);
  }

  @Test
  void aSampleIsBounded() {
    for (int max : List.of(0, Samples.ROWS_MAX + 1)) {
      assertThatThrownBy(() -> samples.sample(TENANT, SampledBy.TOPIC, max)).isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> SampledBy.of("payload")).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("topic");
  }

  @Test
  void queuesAreReadFromTheirMeters() {
    AtomicLong value = new AtomicLong(7);
    Gauge.builder("dunlin.lane.messages", value, AtomicLong::get).register(registry);
    Gauge.builder("dunlin.lane.bytes", value, each -> each.get() * 100).register(registry);
    Gauge.builder("dunlin.store.queued", value, AtomicLong::get).tag("range", "inbox-0").register(registry);
    Gauge.builder("dunlin.store.oldest", value, each -> each.get() / 4.0).tag("range", "inbox-0").register(registry);
    Gauge.builder("dunlin.store.queued", value, each -> 0).tag("range", "inbox-1").register(registry);

    assertThat(new Queues(registry).getQueues())
        .containsExactly(
            new QueueRow("commands of the range inbox-0", 7, -1, 1_750), new QueueRow("commands of the range inbox-1", 0, -1, -1),
            new QueueRow("messages in lanes", 7, 700, -1));
  }

  /** A meter with another name would never be found, and the queue would seem not to be there. */
  @Test
  void theMetersOfQueuesAreThoseOfTheNode() throws IOException {
    String page = Files.readString(Path.of("../../docs/metrics.md"));
    for (Queues.Meters queue : Queues.ALL) {
      for (String name : List.of(queue.waiting(), queue.bytes(), queue.oldest())) {
        if (!name.isEmpty()) assertThat(page).containsPattern("\\| `" + name.replaceAll("[.-]", "_") + "(_bytes|_seconds|_messages)?` \\| gauge");
      }
    }
  }
}
