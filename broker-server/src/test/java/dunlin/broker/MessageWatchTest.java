package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.meter.FrontendMeters;
import dunlin.broker.meter.LoopCounts;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.runtime.DropEvents;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class MessageWatchTest {
  private static final int MESSAGES = 3;
  private static final long BYTES = 1_000;

  private final DropEvents drops = new DropEvents("test");
  private final FrontendMeters meters = new FrontendMeters("test", new SimpleMeterRegistry(), drops, Tracer.idle(), () -> 0, () -> 0);
  private final LoopCounts.Hop copies = meters.newCounts().copies();
  private final List<MessageWatch> closed = new ArrayList<>();
  private final MessageWatch watch = new MessageWatch(MESSAGES, BYTES, closed::add);

  @AfterEach
  void close() {
    meters.close();
    drops.close();
  }

  private static Publication message(String topic, int payloadBytes) {
    return Publication.of(new Publisher("default", "c"), topic, QoS.AT_LEAST_ONCE, false, 1, new byte[payloadBytes]);
  }

  private List<String> topics() {
    return watch.look().messages().stream().map(Publication::topic).toList();
  }

  @Test
  void messagesAreSeenInTheirOrderAndOnce() {
    watch.take(message("a", 1), copies);
    watch.take(message("b", 1), copies);

    assertThat(topics()).containsExactly("a", "b");
    assertThat(topics()).isEmpty();
    assertThat(meters.copies().received()).isZero();
  }

  @Test
  void moreThanTheNumberIsSkippedUntilTheNextLook() {
    for (int i = 0; i < MESSAGES + 2; i++) watch.take(message("t" + i, 1), copies);

    MessageWatch.Look look = watch.look();
    assertThat(look.messages()).hasSize(MESSAGES);
    assertThat(look.skipped()).isEqualTo(2);

    watch.take(message("next", 1), copies);
    look = watch.look();
    assertThat(look.messages()).hasSize(1);
    assertThat(look.skipped()).isZero();
    assertThat(meters.copies().dropped()).isZero();
  }

  @Test
  void moreThanTheBytesIsSkippedAndNothingOvertakesIt() {
    watch.take(message("small", 1), copies);
    watch.take(message("large", 900), copies);
    watch.take(message("small again", 1), copies);

    MessageWatch.Look look = watch.look();
    assertThat(look.messages()).extracting(Publication::topic).containsExactly("small");
    assertThat(look.skipped()).isEqualTo(2);
  }

  @Test
  void oneMessageIsSeenHoweverLargeItIs() {
    watch.take(message("huge", 100_000), copies);
    watch.take(message("small", 1), copies);

    assertThat(topics()).containsExactly("huge");
  }

  @Test
  void aClosedWatchSeesNothingAndSaysSoOnce() {
    watch.take(message("a", 1), copies);

    watch.close();
    watch.close();
    watch.take(message("b", 1), copies);

    assertThat(topics()).isEmpty();
    assertThat(closed).containsExactly(watch);
  }
}
