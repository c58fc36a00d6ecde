package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.FakeDist.Published;
import dunlin.model.ReasonCode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Messages to be retained in a cluster, while the tier of the retained messages answers late, in turn, or with errors. */
class RetainLineTest {
  private static final int QOS_0 = 0x30;
  private static final int QOS_1 = 0x32;
  private static final int QOS_2 = 0x34;
  private static final int RETAINED_0 = 0x31;
  private static final int RETAINED_1 = 0x33;
  private static final int RETAINED_2 = 0x35;

  private final OpenFrontend broker = new OpenFrontend(2, false);
  private final LoopClient client = LoopClient.connected(broker.frontend(), 0, 'p', 0);

  {
    broker.dist.publishAnswer = ReasonCode.SUCCESS;
  }

  @AfterEach
  void closes() {
    broker.close();
  }

  private static String publish(int first, int packetId, String payload) {
    return LoopClient.publish(first, packetId, payload);
  }

  private void sets(int index, ReasonCode reason) {
    await().until(() -> broker.retain.answers.size() > index);
    broker.retain.answers.get(index).accept(reason);
    broker.on(0, () -> null);
  }

  private void passed(String... texts) {
    assertThat(broker.dist.published).extracting(Published::text).containsExactly(texts);
  }

  private double waiting() {
    return broker.meters.get("dunlin.publish.behind-retained").gauge().value();
  }

  @Test
  void subscribersGetAMessageOnceItIsSetAndWhatComesBehindItLater() {
    client.send(publish(QOS_1, 1, "one") + publish(RETAINED_1, 2, "two") + LoopClient.publish(QOS_0, "three") + publish(QOS_2, 4, "four"));
    client.hears("40020001");
    passed("one");
    assertThat(waiting()).isEqualTo(3);

    sets(0, ReasonCode.SUCCESS);

    client.hears("40020002" + "50020004");
    passed("one", "two", "three", "four");
    assertThat(waiting()).isZero();
  }

  @Test
  void answersOfTheRetainedMessagesMayOvertakeEachOther() {
    client.send(LoopClient.publish(RETAINED_0, "one") + publish(RETAINED_1, 2, "two") + publish(RETAINED_2, 3, "three"));

    sets(2, ReasonCode.SUCCESS);
    sets(1, ReasonCode.SUCCESS);
    passed();
    sets(0, ReasonCode.SUCCESS);

    client.hears("40020002" + "50020003");
    passed("one", "two", "three");
  }

  @Test
  void otherPublishersDoNotWait() {
    LoopClient other = LoopClient.connected(broker.frontend(), 0, 'q', 0);
    client.send(publish(RETAINED_1, 1, "slow"));
    other.send(publish(QOS_1, 1, "fast"));

    other.hears("40020001");
    passed("fast");
  }

  @Test
  void aMessageThatIsNotSetGoesToNobodyAndWhatComesBehindItGoesOn() {
    client.send(publish(RETAINED_1, 1, "one") + publish(QOS_1, 2, "two"));

    sets(0, ReasonCode.QUOTA_EXCEEDED);

    client.hears("40..000197.*" + "40020002");
    passed("two");
  }

  @Test
  void nothingBehindAMessageOfAnMqtt3ClientThatIsNotSetIsPassedOn() {
    LoopClient old = LoopClient.connectedMqtt3(broker.frontend(), 0, 'o');
    old.send(LoopClient.publishMqtt3(RETAINED_1, 1, "one") + LoopClient.publishMqtt3(QOS_1, 2, "two"));

    sets(0, ReasonCode.UNSPECIFIED_ERROR);

    await().until(() -> !old.isOpen());
    passed();
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  @Test
  void aMessageOfQos0IsDroppedOnceItsClientMayGoOnElsewhere() {
    client.send(LoopClient.publish(RETAINED_0, "one") + LoopClient.publish(QOS_0, "two"));
    await().until(() -> broker.retain.answers.size() == 1);
    broker.leased = false;

    sets(0, ReasonCode.SERVER_UNAVAILABLE);

    passed();
    assertThat(waiting()).isZero();
    assertThat(broker.on(0, () -> broker.loop(0).window().messages())).isZero();
    assertThat(broker.frontend().publishes().inFlight()).isZero();
  }

  @Test
  void aMessageOfQos0ThatIsNotSetGoesToSubscribersAndIsCounted() {
    client.send(LoopClient.publish(RETAINED_0, "one"));
    await().until(() -> broker.retain.answers.size() == 1);
    assertThat(broker.on(0, () -> broker.loop(0).window().messages())).as("it holds credit").isEqualTo(1);
    assertThat(broker.frontend().publishes().inFlight()).isEqualTo(1);

    sets(0, ReasonCode.SERVER_BUSY);

    passed("one");
    assertThat(broker.meters.get("dunlin.frontend.store-failures").counter().count()).isEqualTo(1);
    assertThat(broker.on(0, () -> broker.loop(0).window().messages())).isZero();
    assertThat(broker.frontend().publishes().balanced()).isTrue();
  }

  @Test
  void theEndOfAConnectionIsReportedOnceItsMessagesArePassedOn() {
    client.send(LoopClient.publish(RETAINED_0, "one") + LoopClient.publish(QOS_0, "two"));
    await().until(() -> broker.retain.answers.size() == 1);
    client.close();
    broker.on(0, () -> null);
    assertThat(broker.sessions.disconnected).isEmpty();

    sets(0, ReasonCode.SUCCESS);

    await().until(() -> broker.sessions.disconnected.size() == 1);
    passed("one", "two");
  }
}
