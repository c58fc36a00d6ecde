package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.FakeDist.Published;
import dunlin.broker.access.Policy;
import dunlin.broker.auth.Authorizer;
import dunlin.broker.connect.ConnectionView;
import dunlin.inbox.OpenExchange;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Terms;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** QoS 2 publishes of a client with a durable session, while the other tiers answer late, in turn, or with errors. */
class RecordedPublishesTest {
  private static final int QOS_1 = 0x32;
  private static final int QOS_2 = 0x34;
  private static final int RETAINED = 0x35;
  private static final int AGAIN = 0x3C;

  private final OpenFrontend broker = new OpenFrontend(2);
  private final LoopClient client = LoopClient.connected(broker.frontend(), 0, 'p', 60);

  @AfterEach
  void closes() {
    broker.close();
  }

  private static String publish(int first, int packetId, String payload) {
    return LoopClient.publish(first, packetId, payload);
  }

  private void awaitReleases(int count) {
    await().until(() -> broker.sessions.releases.size() == count);
  }

  @Test
  @Tag("MQTT-4.3.3-11")
  @Tag("MQTT-4.3.3-12")
  void aSecondReleaseJoinsTheFirstOneAndFreesNoIdentifierThatIsInUseAgain() {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(QOS_2, 7, "one"));
    client.hears("50020007");
    client.send("62020007" + "62020007");
    client.hearsNothing();
    awaitReleases(1);
    broker.sessions.releases.get(0).complete(null);
    client.hears("70020007" + "70020007");
    client.send(publish(QOS_2, 7, "two"));
    client.hears("50020007");

    client.send(publish(AGAIN, 7, "two"));
    client.hears("50020007");
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("one", "two");

    client.send("62020007");
    awaitReleases(2);
    broker.sessions.releases.get(1).complete(null);
    client.hears("70020007");
  }

  @Test
  void releasesThatJoinAnotherOneAreBounded() {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(QOS_2, 7, "one"));
    client.hears("50020007");
    client.send("62020007".repeat(1_000));
    client.send("c000");
    client.hearsNothing();
    awaitReleases(1);

    broker.sessions.releases.get(0).complete(null);

    client.hears("(70020007){256}(7003000792){744}d000");
  }

  @Test
  void aMessageIsRetainedBeforeItsExchangeIsRecordedAndNotOvertakenByOtherExchanges() {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(RETAINED, 1, "one") + publish(QOS_2, 2, "two") + publish(RETAINED, 3, "three") + publish(QOS_1, 4, "four"));
    await().until(() -> broker.retain.answers.size() == 2);
    broker.retain.answers.get(1).accept(ReasonCode.SUCCESS);
    client.hearsNothing();
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("four");

    broker.retain.answers.get(0).accept(ReasonCode.SUCCESS);

    client.hears("50020001" + "50020002" + "50020003" + "40020004");
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("four", "one", "two", "three");
  }

  @Test
  void aMessageThatCannotBeRetainedIsNotRecorded() {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(RETAINED, 1, "one") + publish(QOS_2, 2, "two"));
    await().until(() -> broker.retain.answers.size() == 1);

    broker.retain.answers.getFirst().accept(ReasonCode.SERVER_BUSY);

    client.hears("50..000183.*" + "50020002");
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("two");
  }

  /** The client repeats all of these messages, in order, over the next connection. */
  @Test
  void nothingBehindARefusedMessageOfAnMqtt3ClientIsHandedOn() {
    LoopClient old = LoopClient.connectedMqtt3(broker.frontend(), 0, 'o');
    broker.dist.answersLater = true;
    old.send(LoopClient.publishMqtt3(QOS_2, 1, "one") + LoopClient.publishMqtt3(QOS_2, 2, "two"));
    broker.dist.published.get(1).answer(ReasonCode.UNSPECIFIED_ERROR);
    old.hearsNothing();

    old.send(LoopClient.publishMqtt3(QOS_2, 3, "three") + LoopClient.publishMqtt3(QOS_1, 4, "four"));
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("one", "two");
    broker.dist.published.get(0).answer(ReasonCode.SUCCESS);

    old.hears("50020001");
    assertThat(old.isOpen()).isFalse();
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  /** MQTT 3 has no Receive Maximum. If the client were not read from, its PUBREL would not be, either. */
  @Test
  void aClientOfMqtt3WithManyOpenExchangesIsReadFromUntilALimitRefusesOne() {
    LoopClient hoarder = LoopClient.connectedMqtt3(broker.frontend(), 0, 'h');
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    int open = 3 * OpenFrontend.settings(1).connections().receiveMaximum();
    for (int packetId = 1; packetId <= open; packetId++) {
      hoarder.send(LoopClient.publishMqtt3(QOS_2, packetId, "m"));
      hoarder.hears("5002%04x".formatted(packetId));
    }
    hoarder.send("62020001");
    awaitReleases(1);
    broker.sessions.releases.getFirst().complete(null);
    hoarder.hears("70020001");

    broker.dist.publishAnswer = ReasonCode.QUOTA_EXCEEDED;
    hoarder.send(LoopClient.publishMqtt3(QOS_2, open + 1, "one more"));

    await().until(() -> !hoarder.isOpen());
    assertThat(hoarder.heard()).isEmpty();
    assertThat(broker.sessions.releases).as("what was acknowledged stays recorded").hasSize(1);
  }

  @Test
  void aLimitThatMayBeThatOfOpenExchangesIsNamed() {
    broker.dist.publishAnswer = ReasonCode.QUOTA_EXCEEDED;
    client.send(publish(QOS_2, 7, "one"));
    awaitReleases(1);
    broker.sessions.releases.getFirst().complete(null);

    client.hears("50..000797.*%s.*".formatted(HexFormat.of().formatHex("(dunlin.inbox.memory-max)".getBytes(StandardCharsets.US_ASCII))));
  }

  @Test
  void nothingBehindAMessageOfAnMqtt3ClientThatCannotBeRetainedIsRecorded() {
    LoopClient old = LoopClient.connectedMqtt3(broker.frontend(), 0, 'o');
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    old.send(LoopClient.publishMqtt3(RETAINED, 1, "one") + LoopClient.publishMqtt3(QOS_2, 2, "two"));
    await().until(() -> broker.retain.answers.size() == 1);

    broker.retain.answers.getFirst().accept(ReasonCode.UNSPECIFIED_ERROR);

    await().until(() -> !old.isOpen());
    assertThat(broker.dist.published).isEmpty();
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  @Test
  void aReleaseOfAnExchangeThatIsNotRecordedYetEndsTheConnection() {
    client.send(publish(RETAINED, 1, "one") + "62020001");

    client.hears("e0..82.*");
    assertThat(broker.sessions.releases).isEmpty();
  }

  /** The client publishes both again over its next connection, in their order. */
  @Test
  void whatWaitsForAMessageToBeRetainedIsNotHandedOnWithoutALease() {
    client.send(publish(RETAINED, 1, "one") + publish(QOS_2, 2, "two"));
    await().until(() -> broker.retain.answers.size() == 1);
    broker.leased = false;

    broker.retain.answers.getFirst().accept(ReasonCode.SUCCESS);

    client.hears("e0..89.*");
    client.hearsTheEnd();
    assertThat(broker.dist.published).isEmpty();
    assertThat(broker.sessions.releases).isEmpty();
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  /** The client repeats both over its next connection: the first one may be recorded, and the second one is not known to it. */
  @Test
  void whatIsNotAnsweredBeforeTheLeaseIsLostStaysRecordedAndIsNotAnswered() {
    broker.dist.answersLater = true;
    client.send(publish(QOS_2, 7, "one") + publish(QOS_1, 8, "two"));
    await().until(() -> broker.dist.published.size() == 2);
    broker.leased = false;

    broker.dist.published.get(0).answer(ReasonCode.SERVER_UNAVAILABLE);
    broker.dist.published.get(1).answer(ReasonCode.SERVER_UNAVAILABLE);

    client.hears("e0..89.*");
    client.hearsTheEnd();
    assertThat(broker.sessions.releases).isEmpty();
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  @ParameterizedTest
  @Tag("MQTT-4.3.3-9")
  @ValueSource(strings = {"QUOTA_EXCEEDED", "UNSPECIFIED_ERROR", "PACKET_IDENTIFIER_IN_USE"})
  void anErrorBehindTheRecordIsSaidWhenTheRecordIsGone(ReasonCode reason) {
    broker.dist.publishAnswer = reason;
    client.send(publish(QOS_2, 7, "one"));
    awaitReleases(1);
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(QOS_2, 8, "two"));
    client.hearsNothing();

    broker.sessions.releases.getFirst().complete(null);

    client.hears("50..0007%02x.*50020008".formatted(reason.code()));
    client.send(publish(QOS_2, 7, "three"));
    client.hears("50020007");
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("one", "two", "three");
  }

  @Test
  void anErrorIsNotAnsweredIfTheRecordCannotBeDeleted() {
    broker.dist.publishAnswer = ReasonCode.QUOTA_EXCEEDED;
    client.send(publish(QOS_2, 7, "one"));
    awaitReleases(1);

    broker.sessions.releases.getFirst().completeExceptionally(new IllegalStateException("no disk"));

    client.hears("e0..89.*");
    assertThat(client.isOpen()).isFalse();
    await().until(() -> broker.sessions.disconnected.size() == 1);
  }

  /** The link by which it was sent was lost. */
  @Test
  void aRecordThatMayBeThereIsDeletedBeforeTheErrorIsSaid() {
    broker.dist.publishAnswer = ReasonCode.SERVER_UNAVAILABLE;
    client.send(publish(QOS_2, 7, "one"));
    client.hearsNothing();
    awaitReleases(1);

    broker.sessions.releases.getFirst().complete(null);

    client.hears("50..000783.*");
  }

  @Test
  void anExchangeThatIsCertainlyNotRecordedIsRefusedAtOnce() {
    broker.dist.publishAnswer = ReasonCode.SERVER_BUSY;
    client.send(publish(QOS_2, 7, "one"));

    client.hears("50..000783.*");
    assertThat(broker.sessions.releases).isEmpty();
  }

  @ParameterizedTest(name = "the old connection is closed before: {0}")
  @ValueSource(booleans = {false, true})
  void whoTakesOverIsHeardWhenWhatTheOldConnectionPublishedIsDelivered(boolean closed) {
    broker.dist.answersLater = true;
    client.send(publish(QOS_2, 5, "five"));
    if (closed) client.close();
    assertThat(broker.sessions.disconnected).as("left before its publish has ended").isEmpty();
    broker.sessions.resumed = new int[] {5};

    LoopClient next = LoopClient.connected(broker.frontend(), 1, 'p', 60);
    next.send(publish(AGAIN, 5, "five") + publish(QOS_2, 6, "six"));
    LoopClient last = LoopClient.connected(broker.frontend(), 0, 'p', 60);
    last.send(publish(AGAIN, 5, "five") + publish(QOS_2, 6, "six"));
    next.hearsNothing();
    last.hearsNothing();
    assertThat(broker.dist.published).extracting(Published::text).containsExactly("five");

    broker.dist.answersLater = false;
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    broker.dist.published.getFirst().answer(ReasonCode.SUCCESS);

    last.hears("50020005" + "50020006");
    if (closed) await().until(() -> broker.sessions.disconnected.contains(1L));
  }

  @Test
  void aTakeOverFromAConnectionWithoutOpenPublishesIsServedAtOnce() {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(QOS_2, 5, "five"));
    client.hears("50020005");
    broker.sessions.resumed = new int[] {5};

    LoopClient next = LoopClient.connected(broker.frontend(), 1, 'p', 60);
    next.send(publish(AGAIN, 5, "five"));

    next.hears("50020005");
    client.close();
    await().until(() -> broker.sessions.disconnected.contains(1L));
  }

  @Test
  void aConnectionWhosePublishIsNeverAnsweredIsLeftOnceInTheEnd() {
    long patience = TimeUnit.MILLISECONDS.toNanos(RecordedPublishes.patienceMillis(broker.loop(0).settings()));
    broker.dist.answersLater = true;
    client.send(publish(QOS_2, 5, "five"));
    long before = System.nanoTime();
    client.close();
    long after = System.nanoTime();

    giveUp(before + patience - 1);
    assertThat(broker.sessions.disconnected).isEmpty();
    giveUp(after + patience);
    assertThat(broker.sessions.disconnected).containsExactly(1L);
    assertThat(broker.meters.get("dunlin.frontend.disconnects-unsettled").counter().count()).isEqualTo(1);
    broker.sessions.resumed = new int[] {5};
    LoopClient next = LoopClient.connected(broker.frontend(), 1, 'p', 60);
    next.send(publish(AGAIN, 5, "five"));
    next.hears("50020005");

    broker.dist.published.getFirst().answer(ReasonCode.SUCCESS);

    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
    giveUp(after + 2 * patience);
    assertThat(broker.sessions.disconnected).containsExactly(1L);
    assertThat(broker.meters.get("dunlin.frontend.disconnects-unsettled").counter().count()).isEqualTo(1);
  }

  /** As the loop's tick would do at that time. */
  private void giveUp(long nanos) {
    broker.on(
        0,
        () -> {
          ConnectionView.giveUpUnsettled(broker.connections(0), nanos);
          return true;
        });
  }

  private static OpenExchange open(int packetId) {
    return new OpenExchange(packetId, 1, Terms.Origin.fromRecord(9, packetId, List.of(4L)));
  }

  /** A frontend of several, whose session tier knows exchanges of packets 5 and 6, the latter perhaps not delivered. */
  private static LoopClient resumed(OpenFrontend one) {
    LoopClient.connected(one.frontend(), 0, 'p', 60).close();
    await().until(() -> one.sessions.disconnected.size() == 1);
    one.sessions.resumed = new int[] {5, 6};
    one.sessions.open = List.of(open(6));
    return LoopClient.connected(one.frontend(), 0, 'p', 60);
  }

  @Test
  @Tag("MQTT-4.3.3-10")
  void whatMayNotBeDeliveredIsHandedOnAgainWithItsFirstOriginAndNotRetainedAgain() {
    try (var one = new OpenFrontend(1, false)) {
      LoopClient next = resumed(one);
      one.dist.answersLater = true;
      next.send(publish(AGAIN, 5, "five") + publish(AGAIN | 1, 6, "six"));
      next.hears("50020005");
      assertThat(one.dist.published).extracting(Published::text).containsExactly("six");
      assertThat(one.retain.answers).isEmpty();
      var again = one.dist.published.getFirst();
      assertThat(again.message().exchange()).isEqualTo(new Publication.Exchange(1, 2, 6));
      assertThat(again.terms().origin()).isEqualTo(open(6).origin());

      next.send(publish(AGAIN | 1, 6, "six"));
      next.hearsNothing();
      again.answer(ReasonCode.SUCCESS);
      next.hears("50020006" + "50020006");
      next.send(publish(AGAIN, 6, "six"));
      next.hears("50020006");
      assertThat(one.dist.published).hasSize(1);

      next.close();
      await().until(() -> one.sessions.delivered.equals(List.of(5, 6)));
    }
  }

  /** Its client may not publish it any more. It is answered as any repetition, or the client would repeat it for ever. */
  @Test
  void whatMayNotBeDeliveredAndIsNotAllowedAnyMoreStaysOpenAndIsNotHandedOn() {
    Authorizer nothing = (subject, _) -> CompletableFuture.completedFuture(Policy.of(subject, List.of()));
    try (var one = new OpenFrontend(1, nothing)) {
      LoopClient next = resumed(one);
      next.send(publish(AGAIN, 5, "five") + publish(AGAIN, 6, "six"));
      next.hears("50020005" + "50020006");
      assertThat(one.dist.published).isEmpty();

      next.close();
      await().until(() -> one.sessions.delivered.equals(List.of(5)));
    }
  }

  @Test
  void whatTheClientHasNotRepeatedStaysOpen() {
    try (var one = new OpenFrontend(1, false)) {
      LoopClient next = resumed(one);
      one.dist.answersLater = true;
      next.send(publish(QOS_2, 7, "seven") + publish(QOS_2, 8, "eight"));
      next.hearsNothing();
      one.dist.published.get(1).answer(ReasonCode.SUCCESS);
      next.hearsNothing();

      next.close();
      await().until(() -> one.sessions.delivered.equals(List.of(5, 8)));
      one.dist.published.get(0).answer(ReasonCode.SUCCESS);
      await().until(() -> one.sessions.delivered.equals(List.of(5, 8, 7)));
    }
  }

  /** An MQTT 3 client learns of a failure by the end of its connection, and may repeat what is recorded all the same. */
  @Test
  void whatHasFailedStaysOpenAlsoIfThatEndsTheConnection() {
    try (var one = new OpenFrontend(1, false)) {
      LoopClient old = LoopClient.connectedMqtt3(one.frontend(), 0, 'p');
      one.dist.answersLater = true;
      old.send(LoopClient.publishMqtt3(QOS_2, 6, "six") + LoopClient.publishMqtt3(QOS_2, 7, "seven") + LoopClient.publishMqtt3(QOS_2, 8, "eight"));
      old.hearsNothing();
      one.dist.published.get(1).answer(ReasonCode.UNSPECIFIED_ERROR);
      one.dist.published.get(2).answer(ReasonCode.UNSPECIFIED_ERROR);
      one.dist.published.get(0).answer(ReasonCode.SUCCESS);
      old.hears("50020006");
      old.hearsTheEnd();

      await().until(() -> one.sessions.delivered.equals(List.of(6)));
    }
  }

  @Test
  void aFrontendThatIsAloneNeedsNotSayWhatIsDelivered() {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
    client.send(publish(QOS_2, 7, "one"));
    client.hears("50020007");

    client.close();

    await().until(() -> broker.sessions.disconnected.size() == 1);
    assertThat(broker.sessions.delivered).isEmpty();
  }
}
