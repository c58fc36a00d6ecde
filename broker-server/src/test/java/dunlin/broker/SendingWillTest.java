package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.WillPublisher.Outcome;
import dunlin.inbox.WillPublisher.Sending;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Terms;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The parts of a will, with tiers whose answers the test controls. */
final class SendingWillTest {
  private final OpenFrontend open = new OpenFrontend(1);

  {
    open.dist.answersLater = true;
  }

  @AfterEach
  void close() {
    open.close();
  }

  private Sending will(boolean retain) {
    byte[] payload = "will".getBytes(StandardCharsets.UTF_8);
    return open.frontend()
        .wills()
        .prepare(Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "c"), "wills", QoS.AT_LEAST_ONCE, retain, 0, payload), "", false);
  }

  private CompletableFuture<Outcome> attempt(Sending will) {
    var attempt = will.attempt();
    open.on(0, () -> null);
    open.on(0, () -> null);
    return attempt;
  }

  private static Outcome outcome(CompletableFuture<Outcome> attempt) throws Exception {
    return attempt.get(60, TimeUnit.SECONDS);
  }

  @Test
  void aRetainedWillIsNotRetainedAgain() throws Exception {
    var will = will(true);
    var first = attempt(will);
    open.retain.answers.getFirst().accept(ReasonCode.SUCCESS);
    open.dist.published.getFirst().answer(ReasonCode.SERVER_BUSY);
    assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.SERVER_BUSY));

    var second = attempt(will);
    open.dist.published.get(1).answer(ReasonCode.SUCCESS);

    assertThat(outcome(second)).isEqualTo(new Outcome.Published());
    assertThat(open.retain.answers).hasSize(1);
    assertThat(open.dist.published).hasSize(2);
  }

  @Test
  void aWillIsInFlightUntilItIsAcceptedOrRefused() throws Exception {
    var publishes = open.frontend().publishes();
    var will = will(true);
    var first = attempt(will);
    assertThat(publishes.received()).isEqualTo(1);
    assertThat(publishes.inFlight()).isEqualTo(1);
    open.retain.answers.getFirst().accept(ReasonCode.QUOTA_EXCEEDED);
    open.dist.published.getFirst().answer(ReasonCode.SERVER_BUSY);
    assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.SERVER_BUSY));
    assertThat(publishes.inFlight()).as("to be tried again").isEqualTo(1);

    var second = attempt(will);
    open.dist.published.get(1).answer(ReasonCode.SUCCESS);
    assertThat(outcome(second)).isEqualTo(new Outcome.Refused(ReasonCode.QUOTA_EXCEEDED));
    assertThat(publishes.inFlight()).isZero();
    assertThat(publishes.delivered()).isZero();
    assertThat(publishes.dropped()).isEqualTo(1);
    assertThat(publishes.balanced()).isTrue();
  }

  @Test
  void aWillThatSubscribersHaveIsNotPublishedAgain() throws Exception {
    var will = will(true);
    var first = attempt(will);
    open.dist.published.getFirst().answer(ReasonCode.SUCCESS);
    open.retain.answers.getFirst().accept(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.UNSPECIFIED_ERROR));

    var second = attempt(will);
    open.retain.answers.get(1).accept(ReasonCode.QUOTA_EXCEEDED);

    assertThat(outcome(second)).isEqualTo(new Outcome.Refused(ReasonCode.QUOTA_EXCEEDED));
    assertThat(open.dist.published).hasSize(1);
  }

  @Test
  void aWillThatGoesBackIsInFlightNoMoreAndGoesOnWhereItHasEnded() throws Exception {
    var publishes = open.frontend().publishes();
    byte[] payload = "will".getBytes(StandardCharsets.UTF_8);
    var message = Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "c"), "wills", QoS.AT_LEAST_ONCE, true, 0, payload);
    var will = open.frontend().wills().prepare(message, "", false);
    var first = attempt(will);
    open.retain.answers.getFirst().accept(ReasonCode.QUOTA_EXCEEDED);
    open.dist.published.getFirst().answer(ReasonCode.SERVER_BUSY);
    assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.SERVER_BUSY));

    var rest = will.giveBack();
    open.on(0, () -> null);
    open.on(0, () -> null);
    assertThat(publishes.inFlight()).isZero();
    assertThat(publishes.returned()).isEqualTo(1);
    assertThat(publishes.balanced()).isTrue();

    var second = attempt(rest.orElseThrow().goOn(message));
    open.dist.published.get(1).answer(ReasonCode.SUCCESS);
    assertThat(outcome(second)).as("what the retained messages have answered").isEqualTo(new Outcome.Refused(ReasonCode.QUOTA_EXCEEDED));
    assertThat(open.retain.answers).hasSize(1);
    assertThat(open.dist.published.get(1).message().acceptedAtMillis()).isEqualTo(open.dist.published.getFirst().message().acceptedAtMillis());
    assertThat(publishes.balanced()).isTrue();
  }

  @Test
  void aWillThatNoDestinationHasAcceptedIsPreparedAgain() throws Exception {
    for (boolean retain : new boolean[] {true, false}) {
      var will = will(retain);
      var first = attempt(will);
      if (retain) open.retain.answers.getFirst().accept(ReasonCode.SERVER_BUSY);
      open.dist.published.getLast().answer(ReasonCode.SERVER_BUSY);
      assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.SERVER_BUSY));
      assertThat(will.giveBack()).isEmpty();
    }
  }

  @Test
  void aRefusalByARuleWaitsForThePartThatIsTriedAgain() throws Exception {
    var will = will(true);
    var first = attempt(will);
    open.retain.answers.getFirst().accept(ReasonCode.QUOTA_EXCEEDED);
    open.dist.published.getFirst().answer(ReasonCode.SERVER_BUSY);
    assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.SERVER_BUSY));

    var second = attempt(will);
    open.dist.published.get(1).answer(ReasonCode.SUCCESS);

    assertThat(outcome(second)).isEqualTo(new Outcome.Refused(ReasonCode.QUOTA_EXCEEDED));
    assertThat(open.retain.answers).hasSize(1);
  }

  @Test
  void durableSubscribersComeFirstAndEachRefusesOnlyForItself() throws Exception {
    var attempt = attempt(will(false));

    var acknowledgement = open.dist.published.getFirst().acknowledgement();
    assertThat(acknowledgement != null && acknowledgement.terms().storesFirst() && acknowledgement.terms().publishedOnce()).isTrue();
    open.dist.published.getFirst().answer(ReasonCode.SUCCESS);
    assertThat(outcome(attempt)).isEqualTo(new Outcome.Published());
    assertThat(open.retain.answers).isEmpty();
  }

  /** All attempts of all leaders have one origin; those that may be made after another one say so. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anAttemptWhoseSendingIsRecordedNamesTheWill(boolean again) throws Exception {
    byte[] payload = "will".getBytes(StandardCharsets.UTF_8);
    var left = Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "c"), "wills", QoS.AT_LEAST_ONCE, false, 0, payload).asWillOf(7);
    var will = open.frontend().wills().prepare(left, "", again);

    var first = attempt(will);
    open.dist.published.getFirst().answer(ReasonCode.SERVER_BUSY);
    assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.SERVER_BUSY));
    var _ = attempt(will);

    assertThat(open.dist.published).extracting(each -> each.terms()).containsExactly(
        Terms.WILL.from(Terms.Origin.ofWill(7, again)), Terms.WILL.from(Terms.Origin.ofWill(7, true)));
    assertThat(open.dist.published).extracting(each -> each.message().exchange()).containsOnly(Publication.Exchange.ofWill(7));
  }

  @Test
  void inAClusterAWillGoesToSubscribersOnceItIsRetained() throws Exception {
    try (var cluster = new OpenFrontend(1, false)) {
      cluster.dist.answersLater = true;
      byte[] payload = "will".getBytes(StandardCharsets.UTF_8);
      var will =
          cluster.frontend().wills().prepare(Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "c"), "wills", QoS.AT_LEAST_ONCE, true, 0, payload), "", false);
      var first = will.attempt();
      cluster.on(0, () -> null);
      cluster.retain.answers.getFirst().accept(ReasonCode.UNSPECIFIED_ERROR);
      assertThat(outcome(first)).isEqualTo(new Outcome.NotNow(ReasonCode.UNSPECIFIED_ERROR));
      assertThat(cluster.dist.published).isEmpty();

      var second = will.attempt();
      cluster.on(0, () -> null);
      cluster.retain.answers.get(1).accept(ReasonCode.QUOTA_EXCEEDED);
      cluster.on(0, () -> null);
      cluster.dist.published.getFirst().answer(ReasonCode.SUCCESS);
      assertThat(outcome(second)).as("a rule keeps it from being retained, not from subscribers").isEqualTo(new Outcome.Refused(ReasonCode.QUOTA_EXCEEDED));
    }
  }
}
