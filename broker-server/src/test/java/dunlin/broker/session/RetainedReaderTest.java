package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.FakeRetain.Find;
import dunlin.broker.OpenFrontend.FakeSessions.Append;
import dunlin.broker.fanout.FanoutView;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The retained messages for a new subscription while they change, and while it is repeated or ended. */
class RetainedReaderTest {
  private static final String SUBSCRIBED = "90040001000%d";
  private static final String UNSUBSCRIBED = "b00400020000";

  private final OpenFrontend open = new OpenFrontend(1);
  private final LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);

  @AfterEach
  void close() {
    open.close();
  }

  @Test
  void aPageIsNotSentAfterANewerLiveMessage() {
    subscribe(1);
    live("t", "n+1");
    client.hears(published(1, "t", "n+1", false));

    find(0).finds(retained("t", "n"));

    client.hearsNothing();
    assertThat(find(1).filter()).isEqualTo("t");
    find(1).finds(retained("t", "n+1"));
    client.hears(published(1, "t", "n+1", true));
  }

  @Test
  void aRetainedMessageThatIsDeletedBeforeItIsSentIsNotSent() {
    subscribe(0);
    live("t", "");
    client.hears(published(0, "t", "", false));

    find(0).finds(retained("t", "n"));
    find(1).finds();

    client.hearsNothing();
    await().until(() -> open.connections(0).sessions().retainedReads() == 0);
  }

  @Test
  void aTopicThatChangesWhileItIsReadAgainIsReadOnceMore() {
    subscribe(0);
    live("t", "2");
    find(0).finds(retained("t", "1"));
    find(1);
    live("t", "3");
    find(1).finds(retained("t", "2"));
    find(2).finds(retained("t", "4"));

    client.hears(published(0, "t", "2", false) + published(0, "t", "3", false) + published(0, "t", "4", true));
  }

  @Test
  void otherMessagesOfThePageAreSentAndTheNextPageFollows() {
    subscribe(0, "+");
    live("t", "2");
    find(0).findsFirst(retained("s", "1"), retained("t", "1"));
    find(1).finds(retained("t", "2"));
    assertThat(find(2).after()).isNotNull();
    find(2).finds(retained("u", "1"));

    client.hears(
        published(0, "t", "2", false) + published(0, "s", "1", true) + published(0, "t", "2", true) + published(0, "u", "1", true));
  }

  @Test
  void messagesThatDoNotReplaceTheRetainedMessageHaveNoEffect() {
    subscribe(0);
    deliver(Publication.of(publisher(), "t", QoS.AT_LEAST_ONCE, false, System.currentTimeMillis(), new byte[0]));
    find(0).finds(retained("t", "n"));

    client.hears("300400017400" + published(0, "t", "n", true));
  }

  @Test
  void aRepeatedSubscribeReplacesThePreviousOne() {
    subscribe(0);
    for (int i = 0; i < 1_000; i++) client.send(subscribePacket("t", 0));
    client.hears(SUBSCRIBED.formatted(0).repeat(1_000));
    assertThat(open.connections(0).sessions().retainedReads()).isEqualTo(1);

    find(0).finds(retained("t", "before"));
    find(1).finds(retained("t", "n"));

    client.hears(published(0, "t", "n", true));
    assertThat(open.retain.finds).hasSize(2);
  }

  @Tag("MQTT-3.10.4-2")
  @Test
  void unsubscribeEndsTheReadingOfPages() {
    subscribe(1);
    client.send("a206" + "0002" + "00" + "0001" + "74");
    client.hears(UNSUBSCRIBED);

    find(0).findsFirst(retained("t", "n"));

    client.hearsNothing();
    assertThat(open.retain.finds).hasSize(1);
    assertThat(open.connections(0).sessions().retainedReads()).isZero();
  }

  @Test
  void retainedMessagesOfAnotherSubscriptionAreStillSent() {
    subscribe(0);
    client.send(subscribePacket("+", 0));
    routes(1);
    client.hears(SUBSCRIBED.formatted(0));
    client.send("a206" + "0002" + "00" + "0001" + "74");
    client.hears(UNSUBSCRIBED);

    find(0).finds(retained("t", "n"));
    find(1).finds(retained("t", "n"));

    client.hears(published(0, "t", "n", true));
    assertThat(find(1).filter()).isEqualTo("+");
  }

  @Test
  void unsubscribeDiscardsTheRestOfAPage() {
    LoopClient slow = LoopClient.connecting(open.frontend(), 0, 's', 0, 1);
    slow.hears("20.*");
    slow.send(subscribePacket("t", 1));
    routes(0);
    slow.hears(SUBSCRIBED.formatted(1));
    find(0).finds(retained("t", "1"), retained("t", "2"));
    slow.hears(published(1, "t", "1", true));

    slow.send("a206" + "0002" + "00" + "0001" + "74");
    slow.hears(UNSUBSCRIBED);
    slow.send("40020001");

    slow.hearsNothing();
  }

  @Test
  void messagesThatTheInboxLeavesOutAreReadAgain() {
    LoopClient durable = durableSubscriber();
    find(0).finds(retained("s", "n"), retained("t", "n"));
    assertThat(append(0).from()).isEqualTo(1);
    push(1, QoS.AT_LEAST_ONCE, "t", "n+1");
    durable.hears(published(1, "t", "n+1", false));

    append(0).taken(3, true, false);

    assertThat(find(1).filter()).isEqualTo("t");
    find(1).finds(retained("t", "n+1"));
    assertThat(append(1).from()).isEqualTo(3);
    assertThat(append(1).retained()).hasSize(1);
    append(1).taken(4, true);
    durable.hearsNothing();
    assertThat(open.connections(0).sessions().retainedReads()).isZero();
  }

  /** The messages in the inbox have expired, so this connection has not received them and never will. */
  @Test
  void messagesThatExpiredInTheInboxKeepNoPageOut() {
    LoopClient durable = durableSubscriber();
    find(0).finds(retained("t", "n"));
    assertThat(append(0).from()).isEqualTo(1);

    append(0).taken(3_001, false);

    find(1).finds(retained("t", "n"));
    assertThat(append(1).from()).isEqualTo(3_001);
    append(1).taken(3_002, true);
    durable.hearsNothing();
    assertThat(open.connections(0).sessions().retainedReads()).isZero();
  }

  @Test
  void topicsOfQos0MessagesThatArriveWhileAPageIsStoredAreReadAgain() {
    LoopClient durable = durableSubscriber();
    find(0).finds(retained("s", "n"), retained("t", "n"));
    assertThat(append(0).retained()).hasSize(2);
    push(0, QoS.AT_MOST_ONCE, "t", "n+1");
    durable.hears(published(0, "t", "n+1", false));

    append(0).taken(3, true, true);

    assertThat(find(1).filter()).isEqualTo("t");
  }

  @Test
  void nothingThatTheInboxLeftOutIsReadAgainAfterUnsubscribe() {
    LoopClient durable = durableSubscriber();
    find(0).finds(retained("t", "n"));
    assertThat(append(0).retained()).hasSize(1);
    durable.send("a206" + "0002" + "00" + "0001" + "23");
    await().until(() -> open.sessions.changes.size() == 2);
    open.sessions.changes.get(1).complete(List.of(true));
    durable.hears(UNSUBSCRIBED);

    append(0).taken(2, false);

    durable.hearsNothing();
    assertThat(open.retain.finds).hasSize(1);
  }

  private LoopClient durableSubscriber() {
    LoopClient durable = LoopClient.connected(open.frontend(), 0, 'd', 60);
    durable.send(subscribePacket("#", 1));
    await().until(() -> open.sessions.changes.size() == 1);
    open.sessions.changes.getFirst().complete(List.of(false));
    durable.hears(SUBSCRIBED.formatted(1));
    return durable;
  }

  private Append append(int index) {
    await().atMost(Duration.ofMinutes(2)).until(() -> open.sessions.appends.size() > index);
    return open.sessions.appends.get(index);
  }

  private void push(long sequence, QoS qos, String topic, String payload) {
    InboxMessage message = new InboxMessage(sequence, qos, false, false, false, new int[0], retained(topic, payload));
    ConnectionId connection = open.sessions.connects.getLast().connection();
    open.on(
        0,
        () -> {
          open.frontend().connections().push(connection, message);
          return true;
        });
  }

  private void subscribe(int qos) {
    subscribe(qos, "t");
  }

  private void subscribe(int qos, String filter) {
    client.send(subscribePacket(filter, qos));
    routes(0);
    client.hears(SUBSCRIBED.formatted(qos));
  }

  private static String subscribePacket(String filter, int qos) {
    return "8207" + "0001" + "00" + "0001" + "%02x".formatted((int) filter.charAt(0)) + "%02x".formatted(qos);
  }

  /** Answers that the dist tier has set the route. */
  private void routes(int index) {
    await().until(() -> open.dist.answers.size() > index);
    open.dist.answers.get(index).complete(null);
  }

  private Find find(int index) {
    await().until(() -> open.retain.finds.size() > index);
    return open.retain.finds.get(index);
  }

  private void live(String topic, String payload) {
    deliver(retained(topic, payload));
  }

  private void deliver(Publication message) {
    open.on(0, () -> FanoutView.deliver(open.fanout().on(0), message, 1));
  }

  private static Publication retained(String topic, String payload) {
    byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
    return Publication.of(publisher(), topic, QoS.AT_LEAST_ONCE, true, System.currentTimeMillis(), bytes);
  }

  private static Publisher publisher() {
    return new Publisher(Publisher.DEFAULT_TENANT, "publisher");
  }

  /** A pattern for a PUBLISH to the client; with QoS 1, any packet identifier matches. */
  private static String published(int qos, String topic, String payload, boolean retain) {
    StringBuilder text = new StringBuilder();
    for (byte b : payload.getBytes(StandardCharsets.UTF_8)) text.append("%02x".formatted(b));
    int length = 4 + (qos > 0 ? 2 : 0) + payload.length();
    String packetId = qos > 0 ? "...." : "";
    return "%02x%02x0001%02x".formatted(0x30 | qos << 1 | (retain ? 1 : 0), length, (int) topic.charAt(0)) + packetId + "00" + text;
  }
}
