package dunlin.transport.trace;

import static dunlin.transport.trace.TraceContextTest.message;
import static dunlin.transport.trace.TraceContextTest.property;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.transport.trace.SpanSampler.SpanStep;
import dunlin.transport.trace.Trace.Step;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpanSamplerTest {
  private static final byte[] SAMPLED = property("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  private static final byte[] NOT_SAMPLED = property("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");

  private Instant now = Instant.ofEpochMilli(10_000);
  private final Tracer tracer = new Tracer(() -> now, () -> 0);

  private SpanSampler sampler(int oneIn, int perSecond) {
    SpanSampler sampler = new SpanSampler(oneIn, perSecond, () -> now);
    tracer.sample(sampler);
    return sampler;
  }

  private void note(Publication message, Step step) {
    tracer.note("publish", step, "why", message, Trace.Party.named("p"));
  }

  @Test
  void onlyMessagesThatTheirPublishersSampleAreFollowed() {
    assertThat(tracer.runs()).isFalse();
    SpanSampler sampler = sampler(0, 100);
    assertThat(tracer.runs()).isTrue();

    note(message("c", "a", 9_000, "x", SAMPLED), Step.RECEIVED);
    note(message("c", "b", 9_000, "x", NOT_SAMPLED), Step.RECEIVED);
    note(message("c", "c", 9_000, "x"), Step.RECEIVED);

    List<SpanStep> taken = sampler.take(10);
    assertThat(taken).hasSize(1);
    SpanStep step = taken.getFirst();
    assertThat(step.traceId()).isEqualTo("4bf92f3577b34da6a3ce929d0e0e4736");
    assertThat(step.parentId()).isEqualTo("00f067aa0ba902b7");
    assertThat(step.spanId()).matches("[0-9a-f]{16}").isNotEqualTo("0000000000000000");
    assertThat(step.acceptedAtMillis()).isEqualTo(9_000);
    assertThat(step.event()).isEqualTo(new Trace.Event(10_000_000, "publish", "received", "why", "a", "c", "p", 1, false, 1));
    assertThat(sampler.take(10)).isEmpty();
    assertThat(tracer.count()).as("it is no trace").isZero();
    assertThat(tracer.follows(message("c", "a", 9_000, "x", SAMPLED), null)).isTrue();
    assertThat(tracer.follows(message("c", "a", 9_000, "x"), null)).isFalse();
  }

  @Test
  void oneInSomeOfTheOthersIsFollowedTheSameAtEachHop() {
    SpanSampler sampler = sampler(10, 50_000);
    int messages = 10_000;
    for (int i = 0; i < messages; i++) {
      Publication message = message("c", "a", i, "x");
      note(message, Step.RECEIVED);
      note(message, Step.HANDED_ON);
    }
    List<SpanStep> taken = sampler.take(2 * messages);
    assertThat(taken.size()).isBetween(2 * messages / 20, 2 * messages / 5).isEven();
    for (int i = 0; i < taken.size(); i += 2) {
      assertThat(taken.get(i + 1).traceId()).isEqualTo(taken.get(i).traceId());
      assertThat(taken.get(i + 1).spanId()).isEqualTo(taken.get(i).spanId());
      assertThat(taken.get(i).parentId()).isEmpty();
    }
    assertThat(taken.stream().map(SpanStep::traceId).distinct()).hasSize(taken.size() / 2);
  }

  @Test
  void whatIsTooMuchInASecondIsLeftOutAndCounted() {
    SpanSampler sampler = sampler(1, 3);
    for (int i = 0; i < 5; i++) note(message("c", "a", i, "x"), Step.RECEIVED);
    assertThat(sampler.take(10)).hasSize(3);
    assertThat(sampler.leftOut()).isEqualTo(2);

    now = now.plus(Duration.ofSeconds(1));
    note(message("c", "a", 9, "x"), Step.RECEIVED);
    assertThat(sampler.take(10)).hasSize(1);
    assertThat(sampler.leftOut()).isEqualTo(2);
  }

  @Test
  void whatIsNotTakenIsBounded() {
    SpanSampler sampler = sampler(1, 50_000);
    for (int i = 0; i < SpanSampler.WAITING_MAX + 10; i++) note(message("c", "a", i, "x"), Step.RECEIVED);
    assertThat(sampler.waiting()).isEqualTo(SpanSampler.WAITING_MAX);
    assertThat(sampler.leftOut()).isEqualTo(10);
    assertThat(sampler.take(100)).hasSize(100);
  }

  @Test
  void tracesAndSpansAreBesideEachOther() {
    SpanSampler sampler = sampler(1, 100);
    Trace trace = tracer.begin("t", "default", "", "a", "", Duration.ofMinutes(1));
    for (String topic : List.of("a", "b")) tracer.note("session", Step.SENT, "", message("c", topic, 1, "x"), null);
    tracer.end("t");
    tracer.note("session", Step.SENT, "", message("c", "a", 2, "x"), null);

    assertThat(trace.taken()).isEqualTo(1);
    assertThat(sampler.take(10)).hasSize(3);
  }

  @Test
  void boundsThatAreNoneAreRefused() {
    assertThatThrownBy(() -> new SpanSampler(-1, 1, () -> now)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new SpanSampler(1, 0, () -> now)).isInstanceOf(IllegalArgumentException.class);
  }
}
