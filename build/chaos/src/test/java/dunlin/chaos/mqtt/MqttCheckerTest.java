package dunlin.chaos.mqtt;

import static dunlin.chaos.mqtt.TestHistory.FOREVER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dunlin.chaos.mqtt.check.Drops;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Facts;
import dunlin.chaos.mqtt.check.Filters;
import dunlin.chaos.mqtt.check.Violation;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Histories that are violations, and histories that MQTT or docs/DELIVERY.md allow. The file is long: each promise has its own, and they share their beginnings. */
final class MqttCheckerTest {
  private static TestHistory subscribed() {
    return subscribed(2);
  }

  private static TestHistory subscribed(int qos) {
    return new TestHistory().connect("sub", FOREVER, false).subscribe("sub", "d/#", qos).connect("pub", FOREVER, false);
  }

  private static void good(TestHistory history) {
    assertThat(history.drained().check()).isEmpty();
  }

  private static void bad(TestHistory history, String promise, String kind) {
    assertThat(history.drained().check()).extracting(Violation::promise, Violation::kind).contains(tuple(promise, kind));
  }

  @Test
  void anAcknowledgedMessageMustArrive() {
    bad(subscribed().safe("pub", 1, "d/1", 1), "D3", "lost");
    good(subscribed().publish("pub", 1, "d/1", 1));
    good(subscribed().publish("pub", 1, "d/1", 1).acknowledge("pub", 1, 0x97));
    good(subscribed().safe("pub", 1, "e/1", 1));
  }

  @Test
  void asManyMayBeMissingAsDropsWereCounted() {
    var history = subscribed().safe("pub", 1, "d/1", 1).safe("pub", 2, "d/1", 1).drained();
    assertThat(history.check(new Drops(2, 0))).isEmpty();
    assertThat(history.check(new Drops(1, 0))).hasSize(2);
    assertThat(history.check(new Drops(0, 2))).as("drops of connected sessions say nothing about inboxes").hasSize(2);
  }

  @Test
  void aMessageBeforeSubackIsNotOwed() {
    good(new TestHistory().connect("pub", 0, false).connect("sub", FOREVER, false).publish("pub", 1, "d/1", 1).subscribe("sub", "d/#", 1).acknowledge("pub", 1));
  }

  @Test
  void aConnectedSessionMustGetMessagesAfterItsSuback() {
    var history = new TestHistory().connect("on", 0, false).subscribe("on", "d/#", 1).connect("pub", FOREVER, false).safe("pub", 1, "d/1", 1);
    bad(history, "D2", "lost while connected");
    good(new TestHistory().connect("on", 0, false).subscribe("on", "d/#", 1).connect("pub", FOREVER, false).safe("pub", 1, "d/1", 1).end("on", End.BY_BROKER));
  }

  @Test
  void aMessageOfQos1MayComeTwiceWhenItWasSentTwice() {
    var history = subscribed().publish("pub", 1, "d/1", 1).receive("sub", "pub", 1, "d/1", 1).again("pub", 1).acknowledge("pub", 1);
    good(history.receive("sub", "pub", 1, "d/1", 1));
    bad(subscribed().safe("pub", 1, "d/1", 1).receive("sub", "pub", 1, "d/1", 1).receive("sub", "pub", 1, "d/1", 1), "D4", "doubled");
    good(subscribed().safe("pub", 1, "d/1", 1).receive("sub", "pub", 1, "d/1", 1).receive("sub", "pub", 1, "d/1", 1, true, false));
  }

  @Test
  void aMessageOfQos2ComesOnce() {
    var history = subscribed().publish("pub", 1, "d/1", 2).receive("sub", "pub", 1, "d/1", 2).again("pub", 1).acknowledge("pub", 1);
    bad(history.receive("sub", "pub", 1, "d/1", 2), "D5", "doubled");
  }

  @Test
  void aClusterMaySendQos1AgainAfterAFault() {
    bad(twice(cluster(1), 1, 1), "D4", "doubled");
    bad(twice(cluster(1).deed(Deed.STRUCK).deed(Deed.HEALED).later(50), 1, 1), "D4", "doubled");
    bad(twice(subscribed().deed(Deed.STRUCK).deed(Deed.HEALED), 1, 1), "D4", "doubled");
    good(twice(cluster(1).deed(Deed.STRUCK).deed(Deed.HEALED), 1, 1));
    good(fourTimes());
    good(twice(cluster(1).deed(Deed.STRUCK), 1, 1)); // a fault that has no end, as in a row that was broken off
    bad(fourTimes().receive("sub", "pub", 1, "d/1", 1), "D4", "doubled");
    bad(twice(cluster(0).deed(Deed.STRUCK).deed(Deed.HEALED), 1, 0), "D4", "doubled");
    bad(twice(cluster(2).deed(Deed.STRUCK).deed(Deed.HEALED), 2, 2), "D5", "doubled");
  }

  private static TestHistory fourTimes() {
    return twice(cluster(1).deed(Deed.STRUCK).deed(Deed.HEALED), 1, 1).receive("sub", "pub", 1, "d/1", 1).receive("sub", "pub", 1, "d/1", 1);
  }

  @Test
  void aClusterKeepsTheOrderOfQos0OverOneConnection() {
    bad(overtaken(cluster(1), 0, false), "D4", "out of order");
    good(overtaken(cluster(1), 0, true));
    bad(overtaken(cluster(1), 1, true), "D4", "out of order");
    bad(overtaken(subscribed(), 0, true), "D4", "out of order");
  }

  private static TestHistory overtaken(TestHistory history, int qos, boolean moves) {
    history.connect("pub", 0, false).publish("pub", 1, "d/1", qos);
    if (moves) history.end("pub", End.ABANDONED).connect("pub", 0, false);
    return history.publish("pub", 2, "d/1", qos).receive("sub", "pub", 2, "d/1", qos).receive("sub", "pub", 1, "d/1", qos);
  }

  @Test
  void aPublisherWithoutASessionMayLoseItsOrderWhenAFaultEndsItsConnection() {
    for (var fault : List.of(Deed.STRUCK, Deed.STRUCK_FRONTEND, Deed.KILLED)) good(moved(0, End.BY_BROKER, fault, 1));
    bad(moved(FOREVER, End.BY_BROKER, Deed.STRUCK_FRONTEND, 1), "D4", "out of order");
    bad(moved(0, End.ABANDONED, Deed.STRUCK_FRONTEND, 1), "D4", "out of order");
    bad(moved(0, End.BY_BROKER, Deed.STRUCK, 2), "D4", "out of order"); // another broker's
    bad(moved(0, End.BY_BROKER, Deed.STRUCK, 0), "D4", "out of order"); // no broker's, but a change of the cluster
    bad(moved(0, End.BY_BROKER, Deed.HEALED, 1), "D4", "out of order");
  }

  @Test
  void twoThatMayOvertakeEachOtherAreNoPlaceForTheMutant() {
    var swap = Mutants.ALL.stream().filter(each -> each.name().equals("swap two")).findFirst().orElseThrow().mutation();
    for (int node = 1; node <= 2; node++) {
      var inOrder = moves(0, End.BY_BROKER, Deed.STRUCK, node).receive("sub", "p", 1, "d/1", 1).receive("sub", "p", 2, "d/1", 1).deed(Deed.HEALED);
      assertThat(swap.of(new Facts(inOrder.drained().events()), new Random(1)).isPresent()).isEqualTo(node == 2);
    }
    assertThat(swap.of(new Facts(subscribesLate(FOREVER, 2, 2, true).drained().events()), new Random(1))).isEmpty();
  }

  private static TestHistory moved(int expirySeconds, End how, Deed fault, int node) {
    return moves(expirySeconds, how, fault, node).receive("sub", "p", 2, "d/1", 1).receive("sub", "p", 1, "d/1", 1).deed(Deed.HEALED);
  }

  /** A publisher that publishes one message over each of two connections. */
  private static TestHistory moves(int expirySeconds, End how, Deed fault, int node) {
    var history = cluster(1).connect("p", expirySeconds, false).publish("p", 1, "d/1", 1);
    return history.deed(fault, node).end("p", how).connect("p", expirySeconds, expirySeconds > 0).publish("p", 2, "d/1", 1);
  }

  private static TestHistory cluster(int qos) {
    return inCluster(subscribed(qos));
  }

  private static TestHistory twice(TestHistory history, int qos, int withQos) {
    return history.safe("pub", 1, "d/1", qos).receive("sub", "pub", 1, "d/1", withQos).receive("sub", "pub", 1, "d/1", withQos);
  }

  @Test
  void orderIsThatOfTheFirstDeliveries() {
    var history = subscribed().safe("pub", 1, "d/1", 1).safe("pub", 2, "d/1", 1);
    bad(history.receive("sub", "pub", 2, "d/1", 1).receive("sub", "pub", 1, "d/1", 1), "D4", "out of order");
    history = subscribed().publish("pub", 1, "d/1", 1).publish("pub", 2, "d/1", 1).again("pub", 1).again("pub", 2);
    good(history.receive("sub", "pub", 1, "d/1", 1).receive("sub", "pub", 2, "d/1", 1).receive("sub", "pub", 1, "d/1", 1).receive("sub", "pub", 2, "d/1", 1));
    // A message delivered with QoS 0 during the session's absence is lost, and the publisher's resending is the first
    // delivery.
    history = subscribed(0).end("sub", End.ABANDONED).publish("pub", 1, "d/1", 1).connect("sub", FOREVER, true).publish("pub", 2, "d/1", 1);
    good(history.again("pub", 1).again("pub", 2).receive("sub", "pub", 2, "d/1", 0).receive("sub", "pub", 1, "d/1", 0).receive("sub", "pub", 2, "d/1", 0));
    history = subscribed().safe("pub", 1, "d/1", 1).safe("pub", 2, "d/2", 1).safe("pub", 3, "d/1", 2);
    good(history.receive("sub", "pub", 3, "d/1", 2).receive("sub", "pub", 2, "d/2", 1).receive("sub", "pub", 1, "d/1", 1));
  }

  @Test
  void whoSubscribesBeforeAClusterSendsAgainMayGetAnOldMessageLate() {
    for (int qos = 1; qos <= 2; qos++) {
      good(subscribesLate(FOREVER, qos, qos, true));
      bad(subscribesLate(FOREVER, qos, qos, false), "D4", "out of order");
    }
    bad(subscribesLate(FOREVER, 0, 0, true), "D4", "out of order");
    bad(subscribesLate(FOREVER, 1, 0, true), "D4", "out of order");
    good(subscribesLate(FOREVER, 2, 0, true));
    bad(subscribesLate(0, 2, 0, true), "D4", "out of order"); // no broker sends it again
    bad(subscribesLate(FOREVER, 2, 0, false), "D4", "out of order");
  }

  private static TestHistory subscribesLate(int expirySeconds, int published, int subscribed, boolean fault) {
    var history = new TestHistory().deed(Deed.STARTED, 1).deed(Deed.STARTED, 2).connect("pub", expirySeconds, false).connect("late", 0, false);
    history.publish("pub", 1, "d/1", published).subscribe("late", "d/#", subscribed).publish("pub", 2, "d/1", published).receive("late", "pub", 2, "d/1", subscribed);
    if (fault) history.deed(Deed.STRUCK).deed(Deed.HEALED);
    return history.receive("late", "pub", 1, "d/1", subscribed);
  }

  @Test
  void resentMessagesKeepTheirOrder() {
    var history = subscribed().safe("pub", 1, "d/1", 1).safe("pub", 2, "d/1", 1).hold("sub", "pub", 1, "d/1", 1).hold("sub", "pub", 2, "d/1", 1);
    history.end("sub", End.ABANDONED).connect("sub", FOREVER, true);
    bad(history.receiveAgain("sub", 2, 1), "D4", "sent again out of order");
  }

  @Test
  void secondCopiesKeepTheirPlaceWhenTheyAreSentAgain() {
    var history = subscribed().publish("pub", 1, "d/1", 1).publish("pub", 2, "d/1", 1).deed(Deed.STARTED, 1).deed(Deed.STARTED, 2).deed(Deed.STRUCK).deed(Deed.HEALED);
    for (int copy = 0; copy < 2; copy++) history.hold("sub", "pub", 1, "d/1", 1).hold("sub", "pub", 2, "d/1", 1);
    history.acknowledge("pub", 1).acknowledge("pub", 2).end("sub", End.ABANDONED).connect("sub", FOREVER, true);
    good(history.receiveAgain("sub", 1, 2, 3, 4));
    history.end("sub", End.ABANDONED).connect("sub", FOREVER, true);
    bad(history.receiveAgain("sub", 1, 3, 2, 4), "D4", "sent again out of order");
  }

  @Test
  void whatWasSentInTimeMayBeSentAgainLater() {
    var history = subscribed().publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1).hold("sub", "pub", 1, "d/1", 1);
    history.end("sub", End.ABANDONED).later(10);
    good(history.connect("sub", FOREVER, true).receiveAgain("sub", 1));
  }

  @Test
  void sessionPresentMustBeCorrect() {
    bad(new TestHistory().connect("c", FOREVER, false).end("c", End.ABANDONED).connect("c", FOREVER, false), "D11", "session gone early");
    bad(new TestHistory().connect("c", FOREVER, true), "D6", "present and never made");
    bad(new TestHistory().connect("c", 0, true), "D6", "present after Clean Start");
    good(new TestHistory().connectInVain("c").connect("c", FOREVER, false));
  }

  @Test
  void aSessionExpiresInTime() {
    good(new TestHistory().connect("c", 2, false).end("c", End.ABANDONED).later(3).connect("c", 2, false));
    bad(new TestHistory().connect("c", 2, false).end("c", End.ABANDONED).later(1).connect("c", 2, false), "D11", "session gone early");
    bad(new TestHistory().connect("c", 2, false).end("c", End.ABANDONED).later(60).connect("c", 2, true), "D11", "session there too long");
  }

  @Test
  void aDisplacedConnectionGetsDisconnectAndIsClosed() {
    good(new TestHistory().connect("c", FOREVER, false).connect("c", FOREVER, true).end("c", 1, End.TAKEN_OVER, 0x8E).later(60));
    bad(new TestHistory().connect("c", FOREVER, false).connect("c", FOREVER, true).later(60), "D6", "two connections");
    bad(new TestHistory().connect("c", FOREVER, false).connect("c", FOREVER, true).end("c", 1, End.TAKEN_OVER, -1), "D6", "taken over without saying so");
  }

  @Test
  void aWillMayComeAfterADisconnectThatItsBrokerMayNotHaveGot() {
    good(cutBehindDisconnect(1, 6)); // which was sent just before the fault
    bad(cutBehindDisconnect(1, 2), "D7", "will sent after DISCONNECT"); // during the fault, in which the broker ends no connections
    good(disconnectsInAPause(1));
    bad(disconnectsInAPause(2), "D7", "will sent after DISCONNECT");
    bad(cutBehindDisconnect(1, 2_000), "D7", "will sent after DISCONNECT"); // long before
    bad(cutBehindDisconnect(2, 6), "D7", "will sent after DISCONNECT"); // another broker's fault
    bad(cutBehindDisconnect(2, 2), "D7", "will sent after DISCONNECT");
    bad(disconnectsAfterAPause(), "D7", "will sent after DISCONNECT"); // after the fault
    bad(connectsInAFault(), "D7", "will sent after DISCONNECT");
    good(disconnectsInACut(1));
    bad(disconnectsInACut(2), "D7", "will sent after DISCONNECT");
  }

  /** @param node the one at which another client's connection is ended in the fault */
  private static TestHistory disconnectsInAPause(int node) {
    var history = watched().connectWithWill("c", FOREVER, false, 0).at("other", node).connect("other", FOREVER, false).deed(Deed.STRUCK, 1).later(5);
    return history.disconnected("c", 1).later(5).end("other", End.BY_BROKER).receive("watcher", "c", 1, "w/c", 2).deed(Deed.HEALED).later(60);
  }

  /** The broker has ended another connection in the pause, and kept this one. */
  private static TestHistory disconnectsAfterAPause() {
    var history = watched().connectWithWill("c", FOREVER, false, 0).connect("other", FOREVER, false).deed(Deed.STRUCK, 1).later(8).end("other", End.BY_BROKER).deed(Deed.HEALED);
    return history.later(10).disconnected("c", 1).receive("watcher", "c", 1, "w/c", 2).later(60);
  }

  /** So its broker had a lease after the strike. */
  private static TestHistory connectsInAFault() {
    var history = watched().connect("other", FOREVER, false).deed(Deed.STRUCK, 1).later(8).end("other", End.BY_BROKER).connectWithWill("c", FOREVER, false, 0);
    return history.later(5).disconnected("c", 1).receive("watcher", "c", 1, "w/c", 2).deed(Deed.HEALED).later(60);
  }

  /** The broker has lost its lease and disconnects all clients, and one of them sends DISCONNECT at that time. */
  @Test
  void aWillMayComeAfterADisconnectThatHasCrossedThatOfTheBroker() {
    good(watched().connectWithWill("c", FOREVER, false, 0).end("c", 1, End.DISCONNECTED, 0x89).receive("watcher", "c", 1, "w/c", 2).later(60));
    bad(watched().connectWithWill("c", FOREVER, false, 0).end("c", 1, End.DISCONNECTED, 0x82).receive("watcher", "c", 1, "w/c", 2).later(60), "D7", "will sent after DISCONNECT");
    bad(watched().connectWithWill("c", FOREVER, false, 0).end("c", 1, End.DISCONNECTED, -1).receive("watcher", "c", 1, "w/c", 2).later(60), "D7", "will sent after DISCONNECT");
  }

  /** MQTT 3 has no DISCONNECT of the broker. A client of MQTT 5 gets it at that time. */
  @Test
  void aWillOfMqtt3MayComeAfterADisconnectThatHasCrossedTheEndOfConnections() {
    good(disconnectsWhenABrokerEndsConnections(1, 0, 1));
    good(disconnectsWhenABrokerEndsConnections(1, 0, 4_000)); // which waited in the broker for 3.9 s
    bad(disconnectsWhenABrokerEndsConnections(1, 2, 1), "D7", "will sent after DISCONNECT");
    bad(disconnectsWhenABrokerEndsConnections(2, 0, 1), "D7", "will sent after DISCONNECT");
  }

  /**
   * @param node the one that ends connections
   * @param secondsBefore how long before that the client notices the end of its own
   * @param millis how long before it notices that the client sends DISCONNECT
   */
  private static TestHistory disconnectsWhenABrokerEndsConnections(int node, int secondsBefore, int millis) {
    var history = watched().mqtt3("c").connectWithWill("c", FOREVER, false, 0).at("other", node).connect("other", FOREVER, false).deed(Deed.STRUCK, 3).later(5);
    history.disconnected("c", millis).later(secondsBefore).end("other", 1, End.BY_BROKER, 0x89).receive("watcher", "c", 1, "w/c", 2);
    return history.deed(Deed.HEALED).later(60);
  }

  /** The broker ended the connection during the cut, and the client learns even of its CONNACK later. */
  @Test
  void aWillMayComeAfterADisconnectOverAConnectionThatACutHasEnded() {
    good(disconnectsAfterACut(1, 0, 55)); // the cut takes 60 s
    bad(disconnectsAfterACut(1, 0, 65), "D7", "will sent after DISCONNECT");
    bad(disconnectsAfterACut(1, 10, 5), "D7", "will sent after DISCONNECT"); // it has come after the cut
    bad(disconnectsAfterACut(2, 0, 55), "D7", "will sent after DISCONNECT");
  }

  /**
   * @param node the one that clients do not reach
   * @param comesAfter seconds from the end of the cut to CONNECT, or 0 for one before it
   * @param asksAfter seconds from CONNACK, or the end of the cut, to DISCONNECT
   */
  private static TestHistory disconnectsAfterACut(int node, int comesAfter, int asksAfter) {
    var history = watched();
    if (comesAfter == 0) history.connectWithWill("c", FOREVER, false, 0);
    history.deed(Deed.STRUCK, 1).deed(Deed.UNREACHABLE, node).later(60).deed(Deed.HEALED);
    if (comesAfter > 0) history.later(comesAfter).connectWithWill("c", FOREVER, false, 0);
    return history.receive("watcher", "c", 1, "w/c", 2).later(asksAfter).disconnected("c", 1).later(60);
  }

  /** @param node the one that clients do not reach */
  private static TestHistory disconnectsInACut(int node) {
    var history = watched().connectWithWill("c", FOREVER, false, 0).deed(Deed.STRUCK, node).deed(Deed.UNREACHABLE, node).later(5);
    return history.receive("watcher", "c", 1, "w/c", 2).later(5).disconnected("c", 1).deed(Deed.HEALED).later(60);
  }

  /** @param millisBefore how long before it notices the end of its connection the client sends DISCONNECT; 3 is the time of the fault */
  private static TestHistory cutBehindDisconnect(int node, int millisBefore) {
    var history = watched().connectWithWill("c", FOREVER, false, 0).later(5).deed(Deed.STRUCK, node).receive("watcher", "c", 1, "w/c", 2);
    return history.disconnected("c", millisBefore).deed(Deed.HEALED).later(60);
  }

  private static TestHistory watched() {
    return new TestHistory().connect("watcher", FOREVER, false).subscribe("watcher", "w/#", 2);
  }

  @Test
  void aWillMayComeOrNotWhenItsClientHasSentDisconnectAndClosedTheConnection() {
    good(watched().connectWithWill("c", FOREVER, false, 0).abandonedWithDisconnect("c", 5).later(10));
    good(watched().connectWithWill("c", FOREVER, false, 0).abandonedWithDisconnect("c", 5).receive("watcher", "c", 1, "w/c", 2).later(10));
    bad(watched().connectWithWill("c", FOREVER, false, 0).abandonedWithDisconnect("c", 0).later(10), "D7", "will lost");
  }

  @Test
  void aWillComesOnceAndInTime() {
    bad(watched().connectWithWill("c", FOREVER, false, 0).end("c", End.ABANDONED).later(10), "D7", "will lost");
    bad(watched().connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).receive("watcher", "c", 1, "w/c", 2).later(10), "D7", "will sent early");
    bad(watched().connectWithWill("c", FOREVER, false, 0).receive("watcher", "c", 1, "w/c", 2).later(1), "D7", "will sent while connected");
    var history = watched().connectWithWill("c", FOREVER, false, 0).end("c", End.ABANDONED).receive("watcher", "c", 1, "w/c", 2);
    bad(history.later(10).receive("watcher", "c", 1, "w/c", 2), "D7", "will sent twice");
    history = watched().connectWithWill("c", FOREVER, false, 0).deed(Deed.KILLED).end("c", End.BY_BROKER).receive("watcher", "c", 1, "w/c", 2);
    good(history.deed(Deed.HEALED).receive("watcher", "c", 1, "w/c", 2).later(10));
  }

  /** D7 promises it over new leaders, too, once all brokers know that all record wills. */
  @Test
  void aWillComesOnceInAFaultOfACluster() {
    bad(sentTwice(recording().deed(Deed.STRUCK, 1).deed(Deed.KILLED, 1)), "D7", "will sent twice");
    bad(sentTwice(recording().deed(Deed.STRUCK, 1)), "D7", "will sent twice"); // a pause, a cut, a move
    bad(sentTwice(recording().deed(Deed.STRUCK_FRONTEND, 1).deed(Deed.KILLED, 1).deed(Deed.LAUNCHED, 1)), "D7", "will sent twice");
    good(sentTwice(recording().deed(Deed.STRUCK, 1).deed(Deed.KILLED, 1).deed(Deed.LAUNCHED, 1)));
    good(sentTwice(recording().deed(Deed.STRUCK).deed(Deed.RECORDS_NO_WILLS, 1)));
    bad(sentTwice(recording().deed(Deed.STRUCK, 1).deed(Deed.KILLED, 1).deed(Deed.LAUNCHED, 1).deed(Deed.RECORDS_WILLS, 1).deed(Deed.HEALED)), "D7", "will sent twice");
  }

  private static TestHistory recording() {
    return inCluster(watched().deed(Deed.LAUNCHED, 1).deed(Deed.LAUNCHED, 2)).deed(Deed.RECORDS_WILLS, 1).deed(Deed.RECORDS_WILLS, 2);
  }

  private static TestHistory sentTwice(TestHistory history) {
    history.connectWithWill("c", FOREVER, false, 0).end("c", End.BY_BROKER).receive("watcher", "c", 1, "w/c", 2);
    return history.receive("watcher", "c", 1, "w/c", 2).deed(Deed.HEALED).later(10);
  }

  @Test
  void aWillThatIsNotStoredMayEndWithTheBroker() {
    good(watched().connectWithWill("c", 0, false, 0).deed(Deed.KILLED).end("c", End.BY_BROKER).deed(Deed.HEALED).later(10));
    bad(watched().connectWithWill("c", FOREVER, false, 0).deed(Deed.KILLED).end("c", End.BY_BROKER).deed(Deed.HEALED).later(10), "D7", "will lost");
  }

  @Test
  void aWillIsCancelledByAReturnInTime() {
    var history = watched().connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).connect("c", FOREVER, true).later(10);
    bad(history.receive("watcher", "c", 1, "w/c", 2), "D7", "will sent though the client was back");
    bad(watched().connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).later(60).connect("c", FOREVER, true), "D7", "will lost");
    good(watched().connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).later(6).connect("c", FOREVER, true).later(10));
  }

  /** A CONNECT without an answer may have cancelled a will that was still to be sent then. */
  @Test
  void aConnectInVainExcusesNoWillThatWasDueBefore() {
    good(delayed().later(3).connectInVain("c").later(60));
    bad(delayed().later(20).connectInVain("c").later(60), "D7", "will lost");
    bad(delayed().later(20).connect("c", FOREVER, true).connectInVain("c").later(60), "D7", "will lost");
    good(delayed().deed(Deed.STRUCK).later(20).connectInVain("c").deed(Deed.HEALED).later(60)); // it is sent when the fault is over
    bad(delayed().deed(Deed.STRUCK).later(20).deed(Deed.HEALED).later(10).connectInVain("c").later(60), "D7", "will lost");
  }

  private static TestHistory delayed() {
    return watched().connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED);
  }

  @Test
  void aRefusedConnectOfAFaultMayCancelAWillLater() {
    good(afterRefusal(true, 1, 5));
    bad(afterRefusal(false, 1, 5), "D7", "will lost");
    bad(afterRefusal(true, 20, 5), "D7", "will lost");
    bad(afterRefusal(true, 1, 0), "D7", "will lost");
    var connectedForLong = watched().deed(Deed.STRUCK_FRONTEND).connectInVain("c").deed(Deed.HEALED).connectWithWill("c", FOREVER, true, 5);
    bad(connectedForLong.later(20).end("c", End.ABANDONED).later(10), "D7", "will lost");
  }

  private static TestHistory afterRefusal(boolean fault, int seconds, int delaySeconds) {
    var history = watched();
    if (fault) history.deed(Deed.STRUCK_FRONTEND);
    history.connectInVain("c");
    if (fault) history.deed(Deed.HEALED);
    return history.later(seconds).connectWithWill("c", FOREVER, true, delaySeconds).end("c", End.ABANDONED).later(10);
  }

  private static TestHistory written() {
    return new TestHistory().connect("writer", FOREVER, false).value("writer", 1, "r/1").value("writer", 2, "r/1").connect("new", 0, false).subscribe("new", "r/#", 1);
  }

  @Test
  void aNewSubscriberGetsTheNewestRetainedMessage() {
    good(written().receive("new", "writer", 2, "r/1", 1, false, true).end("new", End.DISCONNECTED));
    bad(written().receive("new", "writer", 1, "r/1", 1, false, true), "D8", "retained message older than acknowledged");
    bad(written().end("new", End.DISCONNECTED), "D8", "retained message missing");
    good(written().end("new", End.ABANDONED));
  }

  @Test
  void aRetainedMessageIsNeverOlderThanAnEarlierOne() {
    var history = written().publish("writer", 3, "r/1", 1, true, false, -1).receive("new", "writer", 3, "r/1", 1);
    bad(history.receive("new", "writer", 2, "r/1", 1, false, true).acknowledge("writer", 3), "D8", "retained message behind a newer one");
    history = written().publish("writer", 3, "r/1", 1, true, false, -1).receive("new", "writer", 3, "r/1", 1, false, true).end("new", End.DISCONNECTED);
    history.connect("newer", 0, false).subscribe("newer", "r/#", 1);
    bad(history.receive("newer", "writer", 2, "r/1", 1, false, true).acknowledge("writer", 3), "D8", "retained message went back");
  }

  @Test
  void aDeletedValueIsNotSentAgain() {
    var history = new TestHistory().connect("writer", FOREVER, false).value("writer", 1, "r/1");
    history.publish("writer", 2, "r/1", 1, true, true, -1).acknowledge("writer", 2).connect("new", 0, false).subscribe("new", "r/#", 1);
    bad(history.receive("new", "writer", 1, "r/1", 1, false, true), "D8", "retained message older than acknowledged");
  }

  private static TestHistory group(int expirySeconds) {
    var history = new TestHistory().connect("m1", expirySeconds, false).subscribe("m1", "$share/g/s/#", 1);
    return history.connect("m2", expirySeconds, false).subscribe("m2", "$share/g/s/#", 1).connect("pub", FOREVER, false);
  }

  @Test
  void oneMemberAtATimeHasAMessage() {
    bad(group(0).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1).receive("m2", "pub", 1, "s/1", 1), "D9", "with two members at a time");
    good(group(0).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1).end("m1", End.ABANDONED).receive("m2", "pub", 1, "s/1", 1));
  }

  @Test
  void oneMemberMustAcknowledge() {
    bad(group(FOREVER).safe("pub", 1, "s/1", 1), "D9", "taken by no member");
    bad(group(FOREVER).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1), "D9", "taken by no member");
    good(group(0).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1).deed(Deed.KILLED));
    bad(group(FOREVER).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1).deed(Deed.KILLED), "D9", "taken by no member");
    bad(group(0).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1).end("m1", End.ABANDONED), "D9", "taken by no member");
  }

  @Test
  void aMemberWithoutSubackMayHaveTakenAMessage() {
    var history = new TestHistory().connect("m1", 0, false).askToSubscribe("m1", "$share/g/s/#");
    good(history.connect("pub", FOREVER, false).safe("pub", 1, "s/1", 1).receive("m1", "pub", 1, "s/1", 1).end("m1", End.BY_BROKER).connect("m1", 0, false).subscribe("m1", "$share/g/s/#", 1));
    history = group(0).connect("m3", 0, false).askToSubscribe("m3", "$share/g/s/#").safe("pub", 1, "s/1", 1);
    good(history.receive("m3", "pub", 1, "s/1", 1).end("m3", End.BY_BROKER));
    history = group(0).connect("m3", 0, false).askToSubscribe("m3", "$share/g/s/#").safe("pub", 1, "s/1", 1);
    bad(history.hold("m3", "pub", 1, "s/1", 1).end("m3", End.BY_BROKER), "D9", "taken by no member");
    history = group(0).connect("m3", 0, false).askToSubscribe("m3", "$share/g/s/#").safe("pub", 1, "s/1", 1);
    bad(history.receive("m3", "pub", 1, "s/1", 1).receive("m1", "pub", 1, "s/1", 1), "D9", "with two members at a time");
  }

  /** A member has left it behind, and the link is lost by which it goes to another one. */
  @Test
  void aQos2MessageOfConnectedMembersMayBeLostInAFaultOfACluster() {
    for (int qos = 1; qos <= 2; qos++) {
      bad(leftBehind(group(0), qos), "D9", "taken by no member");
      bad(leftBehind(inCluster(group(0)), qos), "D9", "taken by no member");
    }
    good(leftBehind(inCluster(group(0)).deed(Deed.STRUCK).deed(Deed.HEALED), 2));
    bad(leftBehind(inCluster(group(0)).deed(Deed.STRUCK).deed(Deed.HEALED), 1), "D9", "taken by no member");
    bad(leftBehind(inCluster(group(FOREVER)).deed(Deed.STRUCK).deed(Deed.HEALED), 2), "D9", "taken by no member");
  }

  private static TestHistory leftBehind(TestHistory history, int qos) {
    return history.safe("pub", 1, "s/1", qos).hold("m1", "pub", 1, "s/1", 1).end("m1", End.ABANDONED);
  }

  private static TestHistory inCluster(TestHistory history) {
    return history.deed(Deed.STARTED, 1).deed(Deed.STARTED, 2);
  }

  @Test
  void anOrderedGroupKeepsItsOrderWhileMembersDoNotChange() {
    var history = new TestHistory().connect("m1", FOREVER, false).subscribe("m1", "$oshare/g/s/#", 1).connect("pub", FOREVER, false).later(5);
    history.safe("pub", 1, "s/1", 1).safe("pub", 2, "s/1", 1);
    bad(history.receive("m1", "pub", 2, "s/1", 1).receive("m1", "pub", 1, "s/1", 1), "D9", "out of order in an ordered group");
  }

  @Test
  void anExpiredMessageIsNotDelivered() {
    var history = subscribed().publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1);
    bad(history.later(10).receive("sub", "pub", 1, "d/1", 1), "D12", "expired");
    good(subscribed().publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1).later(1).receive("sub", "pub", 1, "d/1", 1));
    good(subscribed().publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1).later(10));
  }

  /** D11 and D12: time passes by the monotonic clock while a broker runs. */
  @Test
  void aClockThatIsMovedWhileABrokerRunsIsNoExcuse() {
    bad(new TestHistory().connect("c", 300, false).end("c", End.ABANDONED).deed(Deed.CLOCK_MOVED, 1).connect("c", 300, false), "D11", "session gone early");
    bad(new TestHistory().connect("c", 2, false).end("c", End.ABANDONED).deed(Deed.CLOCK_MOVED, 1).later(60).connect("c", 2, true), "D11", "session there too long");
    var will = watched().connectWithWill("c", FOREVER, false, 300).end("c", End.ABANDONED).deed(Deed.CLOCK_MOVED, 1);
    bad(will.receive("watcher", "c", 1, "w/c", 2), "D7", "will sent early");
    bad(watched().connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).deed(Deed.CLOCK_MOVED, 1).later(60), "D7", "will lost");
    var message = subscribed().publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1).deed(Deed.CLOCK_MOVED, 1);
    bad(message.later(60).receive("sub", "pub", 1, "d/1", 1), "D12", "expired");
  }

  /** D11 and D12: what a broker takes for the time that it was away may be wrong, and then all that depends on its clock is, by that much. */
  @Test
  void aClockThatIsMovedWhileABrokerIsAwayMovesWhatEndsByIt() {
    good(new TestHistory().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connect("c", 300, false).end("c", End.ABANDONED).connect("c", 300, false));
    good(new TestHistory().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connect("c", 2, false).end("c", End.ABANDONED).later(600).connect("c", 2, true));
    good(watched().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connectWithWill("c", FOREVER, false, 300).end("c", End.ABANDONED).receive("watcher", "c", 1, "w/c", 2).later(10));
    good(watched().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).later(60));
    var back = watched().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connectWithWill("c", FOREVER, false, 300).end("c", End.ABANDONED).receive("watcher", "c", 1, "w/c", 2);
    good(back.connect("c", FOREVER, true).later(10));
    var message = subscribed().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1);
    good(message.later(600).receive("sub", "pub", 1, "d/1", 1));
  }

  @Test
  void aClockThatIsMovedWhileABrokerIsAwayExcusesNothingElse() {
    bad(new TestHistory().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connect("c", FOREVER, false).end("c", End.ABANDONED).connect("c", FOREVER, false), "D11", "session gone early");
    bad(new TestHistory().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connect("c", 2, false).end("c", End.ABANDONED).later(640).connect("c", 2, true), "D11", "session there too long");
    bad(new TestHistory().connect("c", 2, false).end("c", End.ABANDONED).connect("c", 2, false).deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1), "D11", "session gone early");
    bad(watched().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connectWithWill("c", FOREVER, false, 0).end("c", End.ABANDONED).later(60), "D7", "will lost");
    bad(watched().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connectWithWill("c", FOREVER, false, 5).end("c", End.ABANDONED).later(640), "D7", "will lost");
    bad(watched().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).connectWithWill("c", FOREVER, false, 5).receive("watcher", "c", 1, "w/c", 2).end("c", End.ABANDONED), "D7", "will sent early");
    var message = subscribed().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).publish("pub", 1, "d/1", 1, false, false, 2).acknowledge("pub", 1);
    bad(message.later(640).receive("sub", "pub", 1, "d/1", 1), "D12", "expired");
    bad(subscribed().deed(Deed.CLOCK_MOVED_WHILE_AWAY, 1).safe("pub", 1, "d/1", 1), "D3", "lost");
  }

  /** Each sending of a publisher counts from when the broker has accepted it. */
  @Test
  void theSecondSendingMayComeWhenTheFirstHasExpired() {
    var history = subscribed().publish("pub", 1, "d/1", 1, false, false, 2).publish("pub", 2, "d/1", 1).receive("sub", "pub", 2, "d/1", 1);
    good(history.later(2).again("pub", 1).receive("sub", "pub", 1, "d/1", 1));
    history = subscribed().publish("pub", 1, "d/1", 1, false, false, 2).publish("pub", 2, "d/1", 1).receive("sub", "pub", 2, "d/1", 1);
    bad(history.later(1).again("pub", 1).receive("sub", "pub", 1, "d/1", 1), "D4", "out of order");
  }

  @Test
  void nothingNewIsDeliveredAfterUnsuback() {
    var history = new TestHistory().connect("s", 0, false).subscribe("s", "d/#", 1).connect("pub", FOREVER, false);
    bad(history.unsubscribe("s", "d/#").publish("pub", 1, "d/1", 1).receive("s", "pub", 1, "d/1", 1), "D2", "after UNSUBACK");
    history = new TestHistory().connect("s", 0, false).subscribe("s", "d/#", 1).connect("pub", FOREVER, false);
    good(history.publish("pub", 1, "d/1", 1).unsubscribe("s", "d/#").receive("s", "pub", 1, "d/1", 1));
  }

  /** A broker may deliver before SUBACK, MQTT 5 section 3.8.4, and a connection may end between the two. */
  @Test
  void whatASubscribeWithoutSubackBringsIsNotNewAfterUnsuback() {
    var history = new TestHistory().connect("s", 0, false).subscribe("s", "d/#", 1).connect("pub", FOREVER, false).unsubscribe("s", "d/#");
    good(history.askToSubscribe("s", "d/#").publish("pub", 1, "d/1", 1).receive("s", "pub", 1, "d/1", 1));
    history = new TestHistory().connect("s", 0, false).askToSubscribe("s", "d/#").connect("pub", FOREVER, false).unsubscribe("s", "d/#");
    history.subscribe("s", "e/#", 1).unsubscribe("s", "e/#");
    bad(history.publish("pub", 1, "d/1", 1).receive("s", "pub", 1, "d/1", 1), "D2", "after UNSUBACK");
  }

  @Test
  void filtersMatchAsSpecified() {
    assertThat(List.of("d/#", "d/+", "+/1", "#", "d/1", "$share/g/d/#")).allMatch(filter -> Filters.matches(filter, "d/1"));
    assertThat(List.of("d", "d/+/x", "d/1/+", "d/2", "e/#")).noneMatch(filter -> Filters.matches(filter, "d/1"));
    assertThat(Filters.matches("d/#", "d")).isTrue();
  }

  @Test
  void aSessionIsNotServedOverTheConnectionBefore() {
    var history = subscribed().connect("sub", FOREVER, true).safe("pub", 1, "d/1", 1).receiveBehind("sub", 1, "pub", 1, 1);
    bad(history.receive("sub", "pub", 1, "d/1", 1).end("sub", 1, End.TAKEN_OVER, 0x8E), "D6", "served behind a takeover");
    history = subscribed().deed(Deed.STRUCK).connect("sub", FOREVER, true).safe("pub", 1, "d/1", 1).receiveBehind("sub", 1, "pub", 1, 1);
    bad(history.receive("sub", "pub", 1, "d/1", 1).end("sub", 1, End.TAKEN_OVER, 0x8E).deed(Deed.HEALED), "D6", "served behind a takeover");
    history = subscribed().safe("pub", 1, "d/1", 1).connect("sub", FOREVER, true).receiveBehind("sub", 1, "pub", 1, 1);
    good(history.receive("sub", "pub", 1, "d/1", 1).end("sub", 1, End.TAKEN_OVER, 0x8E)); // it was on its way
  }

  @Test
  void aConnectionThatIsCutOffEndsOnceItIsNot() {
    var history = new TestHistory().connect("c", FOREVER, false).deed(Deed.STRUCK).connect("c", FOREVER, true).later(60).deed(Deed.HEALED);
    good(history.end("c", 1, End.TAKEN_OVER, -1).later(60));
    history = new TestHistory().connect("c", FOREVER, false).deed(Deed.STRUCK).connect("c", FOREVER, true).later(60).deed(Deed.HEALED);
    bad(history.later(60), "D6", "two connections");
  }

  /** TCP sends again as late after a cut as that lasted. */
  @Test
  void aClientOfABrokerThatWasCutOffMayHearOfATakeOverAsLongAfterTheCutAsItLasted() {
    good(takenOverInACut(1).later(55).end("c", 1, End.TAKEN_OVER, 0x8E).later(60));
    bad(takenOverInACut(1).later(75).end("c", 1, End.TAKEN_OVER, 0x8E).later(60), "D6", "two connections");
    bad(takenOverInACut(2).later(55).end("c", 1, End.TAKEN_OVER, 0x8E).later(60), "D6", "two connections");
  }

  private static TestHistory takenOverInACut(int node) {
    return new TestHistory().connect("c", FOREVER, false).deed(Deed.STRUCK, 1).deed(Deed.UNREACHABLE, node).connect("c", FOREVER, true).later(60).deed(Deed.HEALED);
  }

  @Test
  void aSessionMayExpireWhileItsClientIsCutOff() {
    good(new TestHistory().connect("c", 2, false).deed(Deed.STRUCK).later(10).deed(Deed.HEALED).end("c", End.BY_BROKER).connect("c", 2, false));
    bad(new TestHistory().connect("c", 2, false).later(10).end("c", End.BY_BROKER).connect("c", 2, false), "D11", "session gone early");
  }

  @Test
  void aSessionMayExpireBeforeItsClientGetsConnackOutOfACut() {
    good(new TestHistory().deed(Deed.STRUCK).later(10).deed(Deed.HEALED).connectedLate("c", 2, false, 9).end("c", End.BY_BROKER).connect("c", 2, false));
    var behind = new TestHistory().deed(Deed.STRUCK).later(10).deed(Deed.HEALED).later(9);
    bad(behind.connectedLate("c", 2, false, 8).end("c", End.BY_BROKER).connect("c", 2, false), "D11", "session gone early");
  }

  @Test
  void aWillMayComeWhileItsClientIsCutOff() {
    var cut = watched().connectWithWill("c", FOREVER, false, 0).deed(Deed.STRUCK).later(10).receive("watcher", "c", 1, "w/c", 2);
    good(cut.deed(Deed.HEALED).end("c", End.ABANDONED).later(5));
    var connected = watched().connectWithWill("c", FOREVER, false, 0).later(10).receive("watcher", "c", 1, "w/c", 2);
    bad(connected.end("c", End.ABANDONED).later(5), "D7", "will sent early");
  }

  @Test
  void anotherMemberMayGetWhatOneThatIsCutOffHas() {
    var history = group(FOREVER).deed(Deed.STRUCK).safe("pub", 1, "s/1", 2).hold("m1", "pub", 1, "s/1", 2).receive("m2", "pub", 1, "s/1", 2);
    good(history.end("m1", End.BY_BROKER).deed(Deed.HEALED));
    history = group(FOREVER).deed(Deed.STRUCK).safe("pub", 1, "s/1", 2).hold("m1", "pub", 1, "s/1", 2).receive("m2", "pub", 1, "s/1", 2);
    bad(history.deed(Deed.HEALED), "D9", "with two members at a time");
    history = group(FOREVER).deed(Deed.STARTED, 1).deed(Deed.STARTED, 2).deed(Deed.STRUCK).deed(Deed.HEALED);
    good(history.safe("pub", 1, "s/1", 1).receive("m1", "pub", 1, "s/1", 1).receive("m2", "pub", 1, "s/1", 1));
  }

  @Test
  void whatABrokerWroteBeforeItWasCutOffMayComeBehindWhatAnotherMemberGot() {
    good(heldBackByACut(1).end("m1", End.BY_BROKER).deed(Deed.HEALED).later(60));
    good(heldBackByACut(1).deed(Deed.HEALED).end("m1", End.BY_BROKER).later(60));
    bad(heldBackByACut(1).later(2).end("m1", End.BY_BROKER).deed(Deed.HEALED).later(60), "D9", "with two members at a time");
    bad(heldBackByACut(1).end("m1", End.ABANDONED).deed(Deed.HEALED).later(60), "D9", "with two members at a time");
    bad(heldBackByACut(2).end("m1", End.BY_BROKER).deed(Deed.HEALED).later(60), "D9", "with two members at a time");
  }

  /** @param node the one that is cut off; the members are connected to the first */
  private static TestHistory heldBackByACut(int node) {
    var history = group(0).safe("pub", 1, "s/1", 2).deed(Deed.STRUCK, 1).deed(Deed.UNREACHABLE, node).later(10);
    return history.receive("m2", "pub", 1, "s/1", 2).later(20).hold("m1", "pub", 1, "s/1", 2);
  }

  @Test
  void anotherMemberMayGetItOnceTheOneBeforeSendsDisconnect() {
    good(held().receive("m2", "pub", 1, "s/1", 1).disconnected("m1", 3)); // which began before the other one got it
    bad(held().receive("m2", "pub", 1, "s/1", 1).disconnected("m1", 0), "D9", "with two members at a time");
    good(heldLast().disconnected("m1", 3)); // which found it in its socket then
    bad(heldLast().disconnected("m1", 0), "D9", "with two members at a time");
  }

  private static TestHistory heldLast() {
    return group(0).safe("pub", 1, "s/1", 1).receive("m2", "pub", 1, "s/1", 1).later(1).hold("m1", "pub", 1, "s/1", 1);
  }

  private static TestHistory held() {
    return group(0).safe("pub", 1, "s/1", 1).hold("m1", "pub", 1, "s/1", 1).later(1);
  }

  private static TestHistory cut() {
    return new TestHistory().connect("pub", FOREVER, false).deed(Deed.STRUCK).deed(Deed.CUT, 1);
  }

  private static TestHistory mended(TestHistory history) {
    return history.deed(Deed.MENDED, 1).deed(Deed.HEALED);
  }

  @Test
  void aMinorityAcknowledgesNothingAndDisconnects() {
    good(mended(cut().publish("pub", 1, "d/1", 1).later(6).end("pub", End.BY_BROKER).later(10)));
    bad(mended(cut().safe("pub", 1, "d/1", 1).end("pub", End.BY_BROKER)), "D14", "acknowledged by a minority");
    good(mended(cut().publish("pub", 1, "d/1", 1)).acknowledge("pub", 1));
    good(mended(new TestHistory().connect("pub", FOREVER, false).publish("pub", 1, "d/1", 1).deed(Deed.CUT, 1).acknowledge("pub", 1)));
    good(mended(new TestHistory().connect("pub", FOREVER, false).deed(Deed.CUT, 2).safe("pub", 1, "d/1", 1)));
    bad(mended(cut().later(12)), "D14", "not disconnected by a minority");
    bad(mended(cut().end("pub", End.BY_BROKER).connect("pub", FOREVER, true)), "D14", "accepted by a minority");
  }
}
