package dunlin.transport.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace.Step;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TracerTest {
  private static final String TENANT = "default";
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private long millis = 1_000_000;
  private final Tracer tracer = new Tracer(() -> Instant.ofEpochMilli(millis), () -> millis * 1_000_000);

  private record Client(String clientId, SocketAddress address) implements Party {}

  private static Client client(String id, String address) {
    return new Client(id, new InetSocketAddress(address, 1883));
  }

  private static Publication message(String publisher, String topic) {
    return Publication.of(new Publisher(TENANT, publisher), topic, QoS.AT_LEAST_ONCE, false, 0, new byte[3]);
  }

  private Trace begin(String id, String client, String topic, String address) {
    return tracer.begin(id, TENANT, client, topic, address, MINUTE);
  }

  private void note(Publication message, @Nullable Party party) {
    tracer.note("session", Step.RECEIVED, "", message, party);
  }

  private static List<String> topics(Trace trace) {
    return trace.read(0, 1_000).events().stream().map(Event::topic).toList();
  }

  @Test
  void aSampleHasAPlaceOfItsOwnAndIsGoneAfterwards() {
    for (int i = 0; i < Tracer.TRACES_MAX; i++) begin("t" + i, "", "a", "");
    tracer.end("t0");
    MessageSample sample = tracer.beginSample(TENANT, MINUTE);
    assertThatThrownBy(() -> tracer.beginSample(TENANT, MINUTE)).isInstanceOf(IllegalStateException.class).hasMessageContaining("another sample");
    tracer.note("publish", Step.RECEIVED, "", message("p", "b"), null);
    assertThat(tracer.count()).isEqualTo(Tracer.TRACES_MAX);
    tracer.endSample(sample);
    tracer.note("publish", Step.RECEIVED, "", message("p", "b"), null);

    assertThat(sample.messages()).extracting(MessageSample.Message::topic).containsExactly("b");
    assertThat(tracer.all()).extracting(Trace::id).containsExactly("t0", "t1", "t2", "t3");
    assertThat(tracer.count()).isEqualTo(Tracer.TRACES_MAX - 1);
    assertThat(tracer.taken()).as("a sample has no lines").isZero();
    MessageSample following = tracer.beginSample(TENANT, MINUTE);
    tracer.endSample(sample);
    assertThat(tracer.count()).as("it ends no other one").isEqualTo(Tracer.TRACES_MAX);
    tracer.endSample(following);
  }

  @Test
  void aSampleThatIsForgottenEnds() {
    tracer.beginSample(TENANT, MINUTE);
    millis += MINUTE.toMillis();
    tracer.endDue();

    assertThat(tracer.runs()).isFalse();
  }

  @Test
  void withoutATraceNothingIsFollowed() {
    note(message("p", "a"), null);

    assertThat(tracer.runs()).isFalse();
    assertThat(tracer.follows(message("p", "a"), null)).isFalse();
    assertThat(tracer.taken()).isZero();
  }

  @Test
  void anEventSaysWhatIsKnownOfTheMessage() {
    Trace trace = begin("t", "", "a/#", "");

    tracer.note("session", Step.NOT_RETAINED, "quota-exceeded", message("p", "a/b"), client("s", "10.0.0.1"));

    assertThat(trace.read(0, 10).events())
        .containsExactly(new Event(1_000_000_000, "session", "not-retained", "quota-exceeded", "a/b", "p", "s", 1, false, 3));
  }

  @Test
  void aClientIsFollowedAsPublisherAndAsSubscriber() {
    Trace trace = begin("t", "c", "", "");

    note(message("c", "published"), null);
    note(message("p", "received"), client("c", "10.0.0.1"));
    note(message("p", "others"), client("d", "10.0.0.1"));
    note(message("p", "unknown"), null);

    assertThat(topics(trace)).containsExactly("published", "received");
  }

  @Test
  void anAddressIsThatOfTheClientAtTheHop() {
    Trace trace = begin("t", "", "", "::ffff:10.0.0.1");

    note(message("p", "here"), client("c", "10.0.0.1"));
    note(message("p", "elsewhere"), client("c", "10.0.0.2"));
    note(message("p", "unknown"), null);
    note(message("p", "absent"), Party.named("c"));

    assertThat(topics(trace)).containsExactly("here");
  }

  @Test
  void allCriteriaThatAreGivenMustBeMet() {
    Trace trace = begin("t", "c", "a", "10.0.0.1");

    note(message("c", "b"), client("c", "10.0.0.1"));
    note(message("d", "a"), client("d", "10.0.0.1"));
    note(message("c", "a"), client("c", "10.0.0.2"));
    note(Publication.of(new Publisher("other", "c"), "a", QoS.AT_MOST_ONCE, false, 0, new byte[0]), client("c", "10.0.0.1"));
    assertThat(topics(trace)).isEmpty();

    note(message("c", "a"), client("c", "10.0.0.1"));
    assertThat(topics(trace)).containsExactly("a");
  }

  @ParameterizedTest
  @CsvSource({"'', '', ''", "'', 'a/#/b', ''", "'', '$share/g/a', ''", "'', '', host.example", "'', '', 10.0.0.1:1883", "'', '', 10.0.0.0/8"})
  void whatCannotBeFollowedIsRefused(String client, String topic, String address) {
    assertThatThrownBy(() -> new TraceCriteria(TENANT, client, topic, address)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aTraceEndsByItselfAndCanBeReadForAWhile() {
    Trace trace = begin("t", "", "a", "");
    note(message("p", "a"), null);
    millis += MINUTE.toMillis() - 1;
    tracer.endDue();
    assertThat(trace.running()).isTrue();

    millis++;
    tracer.endDue();
    note(message("p", "a"), null);

    assertThat(tracer.runs()).isFalse();
    assertThat(trace.running()).isFalse();
    assertThat(tracer.find("t")).contains(trace);
    assertThat(topics(trace)).hasSize(1);

    millis += Duration.ofMinutes(30).toMillis();
    tracer.endDue();
    assertThat(tracer.find("t")).isEmpty();
    assertThat(tracer.taken()).as("since the start").isEqualTo(1);
  }

  @Test
  void aTraceCanBeEndedOnce() {
    begin("t", "", "a", "");

    assertThat(tracer.end("t")).isTrue();
    assertThat(tracer.end("t")).isFalse();
    assertThat(tracer.end("other")).isFalse();
    assertThat(tracer.runs()).isFalse();
  }

  @Test
  void aMessageThatConcernsNoTraceIsLookedAtAgainWhenTheTracesChange() {
    Publication message = message("p", "a");
    begin("other", "", "b", "");
    for (int hop = 0; hop < 3; hop++) assertThat(tracer.follows(message, null)).isFalse();
    note(message, null);

    Trace trace = begin("t", "", "a", "");
    note(message, null);
    note(message("p", "c"), null);
    note(message, null);
    assertThat(topics(trace)).containsExactly("a", "a");

    tracer.end("t");
    tracer.end("other");
    assertThat(tracer.follows(message, null)).isFalse();
  }

  @Test
  void theTracesOfTwoNodesOfAProcessDoNotHideMessagesFromEachOther() {
    Publication message = message("p", "a");
    begin("other", "", "b", "");
    Tracer node = Tracer.idle();
    Trace trace = node.begin("t", TENANT, "", "a", "", Duration.ofMinutes(1));

    for (int hop = 0; hop < 3; hop++) {
      assertThat(tracer.follows(message, null)).isFalse();
      node.note("session", Step.RECEIVED, "", message, null);
    }
    assertThat(topics(trace)).containsExactly("a", "a", "a");
  }

  @Test
  void theClientIsAskedForAtEachHop() {
    Publication message = message("p", "a");
    begin("t", "c", "", "");

    assertThat(tracer.follows(message, null)).isFalse();
    assertThat(tracer.follows(message, client("c", "10.0.0.1"))).isTrue();
    assertThat(tracer.follows(message, client("d", "10.0.0.1"))).isFalse();
  }

  @Test
  void oneThatHasEndedGivesWayToANewOne() {
    for (int i = 0; i < Tracer.TRACES_MAX; i++) begin("t" + i, "", "a", "");
    assertThatThrownBy(() -> begin("more", "", "a", "")).isInstanceOf(IllegalStateException.class);
    assertThat(begin("t1", "", "b", "").topic()).as("the one that is there").isEqualTo("a");

    tracer.end("t2");
    begin("more", "", "a", "");

    assertThat(tracer.all()).extracting(Trace::id).containsExactly("t0", "t1", "t3", "more");
    assertThat(tracer.count()).isEqualTo(Tracer.TRACES_MAX);
  }

  @ParameterizedTest
  @CsvSource({"0", "-1", "3601"})
  void aTraceHasABoundInTime(int seconds) {
    assertThatThrownBy(() -> tracer.begin("t", TENANT, "", "a", "", Duration.ofSeconds(seconds))).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aSlowReaderMissesTheOldestAndHearsHowMany() {
    Trace trace = begin("t", "", "#", "");
    for (int i = 0; i < Trace.EVENTS_MAX + 10; i++) {
      if (i % Trace.EVENTS_A_SECOND == 0) millis += 1_000;
      note(message("p", "a" + i), null);
    }

    Trace.Part first = trace.read(4, 2);
    assertThat(first.events()).extracting(Event::topic).containsExactly("a10", "a11");
    assertThat(first.lost()).isEqualTo(6);
    Trace.Part next = trace.read(first.next(), Trace.EVENTS_MAX);
    assertThat(next.events()).hasSize(Trace.EVENTS_MAX - 2);
    assertThat(next.lost()).isZero();
    assertThat(next.next()).isEqualTo(Trace.EVENTS_MAX + 10);
    assertThat(trace.read(next.next(), 10).events()).isEmpty();
    assertThat(trace.read(Long.MAX_VALUE, 10).next()).as("more than there were").isEqualTo(next.next());
  }

  @Test
  void whatIsTooMuchInASecondIsLeftOutAndCounted() {
    Trace trace = begin("t", "", "#", "");
    for (int i = 0; i < Trace.EVENTS_A_SECOND + 5; i++) note(message("p", "a"), null);
    millis += 1_000;
    note(message("p", "a"), null);

    assertThat(trace.taken()).isEqualTo(Trace.EVENTS_A_SECOND + 1L);
    assertThat(trace.leftOut()).isEqualTo(5);
    assertThat(trace.read(0, 1).leftOut()).isEqualTo(5);
    assertThat(tracer.leftOut()).isEqualTo(5);
  }

  @Test
  void theBytesHaveABoundAsWell() {
    Trace trace = begin("t", "", "#", "");
    String topic = "x".repeat(60_000);
    for (int i = 0; i < 8_000; i++) {
      if (i % 1_000 == 0) millis += 1_000;
      note(message("p".repeat(1_000), topic), client("c".repeat(1_000), "10.0.0.1"));
    }

    List<Event> kept = trace.read(0, Trace.EVENTS_MAX).events();
    assertThat(kept.stream().mapToLong(Event::bytes).sum()).isBetween(Trace.BYTES_MAX - 4_096, Trace.BYTES_MAX);
    assertThat(kept.getFirst().topic()).hasSize(Event.TEXT_MAX);
  }
}
