package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.GroupOfClients;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.GroupOfSessions;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import dunlin.inbox.SessionsMXBean.MessageRow;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.management.JMX;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What waits for sessions, what they subscribe to and which routes a topic has: by the admin API, by JMX, and as clients then get it. */
class InboxApiIT {
  @TempDir Path directory;

  private String viewer;
  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() throws IOException {
    viewer = AdminTokens.create();
    Path tokens = Files.writeString(directory.resolve("tokens"), AdminTokens.line("viewer", Role.VIEWER, viewer) + "\n");
    Path data = directory.resolve("data");
    broker =
        TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.admin.token-file", tokens.toString()));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private void absent(String clientId, String... filters) {
    RawClient.connected(broker.port(), Connect.of(clientId)).disconnectAfter(client -> List.of(filters).forEach(filter -> client.subscribe(filter, 1)));
  }

  private void publish(String topic, int messages, String payload) {
    try (var client = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      for (int i = 1; i <= messages; i++) client.publishAndWait(topic, payload + i);
    }
  }

  @Test
  void theFirstMessagesOfAnInboxAreShownAndStayThere() throws Exception {
    absent("meter-1", "to/#");
    publish("to/meter-1", 5, "hello ");

    Answer first = api.get("/sessions/meter-1/messages?limit=2");
    assertThat(first.members("sequence")).containsExactly("1", "2");
    assertThat(first.members("topic")).containsOnly("to/meter-1");
    assertThat(first.members("qos")).containsOnly("1");
    assertThat(first.members("publisher")).containsOnly("publisher");
    assertThat(first.members("payloadBytes")).containsOnly("7");
    assertThat(first.members("sent")).containsOnly("false");
    assertThat(first.members("expiresAt")).containsOnly("");
    assertThat(Instant.parse(first.members("acceptedAt").getFirst())).isBetween(Instant.now().minus(Duration.ofMinutes(5)), Instant.now().plusSeconds(1));
    assertThat(first.text()).as("payloads are not in a listing").doesNotContain("\"payload\"");
    Answer last = api.get("/sessions/meter-1/messages?limit=3&cursor=" + first.member("next"));
    assertThat(last.members("sequence")).containsExactly("3", "4", "5");
    assertThat(api.get("/sessions/meter-1/messages?cursor=" + last.member("next")).members("sequence")).isEmpty();
    assertThat(api.get("/sessions/meter-1").member("messages")).isEqualTo("5");

    Answer shown = api.get("/sessions/meter-1/messages/2");
    assertThat(new String(Base64.getDecoder().decode(shown.member("payload")), StandardCharsets.UTF_8)).isEqualTo("hello 2");
    assertThat(broker.bean("Sessions", SessionsMXBean.class).messages("default", "meter-1", 3, 10).messages()).extracting(MessageRow::sequence).containsExactly(4L, 5L);
    assertThat(broker.bean("Sessions", SessionsMXBean.class).message("default", "meter-1", 2)).singleElement().satisfies(
        each -> assertThat(each.payload()).isEqualTo(shown.member("payload")));

    try (var client = RawClient.connected(broker.port(), Connect.of("meter-1"))) {
      for (int i = 1; i <= 5; i++) {
        RawClient.Packet message = client.next(RawClient.PUBLISH);
        assertThat(message.text()).isEqualTo("hello " + i);
        assertThat(message.duplicate()).as("looking at a message does not count as sending it").isFalse();
      }
      assertThat(api.get("/sessions/meter-1/messages").members("sent")).containsOnly("true");
    }
  }

  @Test
  void payloadsNeedAnOperatorAndAreBounded() {
    absent("meter-1", "to/#");
    publish("to/meter-1", 1, "x".repeat(100_000));

    try (ApiCalls holder = api.with(viewer)) {
      assertThat(holder.get("/sessions/meter-1/messages").members("topic")).containsExactly("to/meter-1");
      assertThat(holder.get("/sessions/meter-1/messages/1").status()).isEqualTo(403);
    }
    Answer shown = api.get("/sessions/meter-1/messages/1");
    assertThat(Base64.getDecoder().decode(shown.member("payload"))).hasSize(65_536);
    assertThat(shown.member("payloadBytes")).isEqualTo("100001");
  }

  @Test
  void aPageOfLargeMessagesEndsEarlyAndTheNextOneGoesOn() {
    absent("meter-1", "to/#");
    publish("to/meter-1", 50, "x".repeat(200_000));

    List<String> sequences = new ArrayList<>();
    int pages = 0;
    String next = "";
    do {
      Answer page = api.get("/sessions/meter-1/messages?limit=100&cursor=" + next);
      assertThat(page.members("sequence")).hasSizeBetween(1, 30);
      sequences.addAll(page.members("sequence"));
      next = page.member("next");
      pages++;
    } while (!next.isEmpty());

    assertThat(pages).isEqualTo(3);
    assertThat(sequences).isEqualTo(IntStream.rangeClosed(1, 50).mapToObj(Integer::toString).toList());
  }

  @Test
  void whatIsNotThereOrOutOfBoundsIsRefused() throws Exception {
    absent("empty");
    publish("elsewhere", 1, "");

    assertThat(api.get("/sessions/empty/messages").members("sequence")).isEmpty();
    assertThat(api.get("/sessions/empty/subscriptions").members("filter")).isEmpty();
    assertThat(api.get("/sessions/empty/messages/1").status()).isEqualTo(404);
    assertThat(api.get("/sessions/none/messages").status()).isEqualTo(404);
    assertThat(api.get("/sessions/none/messages/1").status()).isEqualTo(404);
    assertThat(api.get("/sessions/none/subscriptions").status()).isEqualTo(404);
    assertThat(api.get("/sessions/empty/messages/-1").status()).isEqualTo(400);
    assertThat(api.get("/sessions/empty/messages/first").status()).isEqualTo(400);
    assertThat(api.get("/sessions/empty/messages?limit=101").status()).isEqualTo(400);
    Answer noNumber = api.get("/sessions/empty/messages?cursor=YWJj");
    assertThat(noNumber.status()).isEqualTo(400);
    assertThat(noNumber.member("detail")).isEqualTo("The parameter cursor is none that a page has given.");
    SessionsMXBean sessions = broker.bean("Sessions", SessionsMXBean.class);
    assertThatThrownBy(() -> sessions.messages("default", "empty", -1, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> sessions.messages("default", "empty", 0, 101)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void subscriptionsOfAnAbsentSessionComeInPages() throws Exception {
    absent("meter-1", "b/#", "a", "$share/group/c", "ü");

    Answer first = api.get("/sessions/meter-1/subscriptions?limit=3");
    assertThat(first.members("filter")).containsExactly("$share/group/c", "a", "b/#");
    assertThat(first.members("qos")).containsOnly("1");
    assertThat(api.get("/sessions/meter-1/subscriptions?limit=3&cursor=" + first.member("next")).members("filter")).containsExactly("ü");
    assertThat(broker.bean("Sessions", SessionsMXBean.class).subscriptions("default", "meter-1", "a", 1)).extracting(SubscriptionRow::filter).containsExactly("b/#");
  }

  @Test
  void sessionsWithMostComeFirst() throws Exception {
    absent("many", "to/#");
    absent("few", "to/few", "a", "b");
    absent("none");
    publish("to/all", 3, "x");
    publish("to/few", 1, "x");

    assertThat(api.get("/top/sessions").members("clientId")).containsExactly("many", "few");
    assertThat(api.get("/top/sessions?by=bytes&limit=1").members("clientId")).containsExactly("many");
    assertThat(api.get("/top/sessions?by=subscriptions").members("clientId")).containsExactly("few", "many");
    assertThat(api.get("/top/sessions").members("oldestMillis")).as("not read").containsExactly("-1", "-1");
    assertThat(broker.bean("Sessions", SessionsMXBean.class).top(SessionFigure.MESSAGES, 10)).extracting(SessionRow::messages).containsExactly(4, 1);
    assertThat(api.get("/top/sessions?limit=0").status()).isEqualTo(400);
    assertThat(api.get("/top/sessions?by=age").status()).isEqualTo(400);
  }

  @Test
  void sessionsAreComparedByTheAgeOfTheFirstMessageInTheirInboxes() throws Exception {
    absent("first", "first");
    absent("second", "second");
    absent("without", "elsewhere");
    for (String topic : List.of("first", "second", "first")) publish(topic, 1, "x");

    Answer oldest = api.get("/top/sessions?by=oldest");
    assertThat(oldest.members("clientId")).as("the last message of each does not count").containsExactly("first", "second");
    assertThat(oldest.members("oldestMillis").stream().map(Long::valueOf).toList()).isSortedAccordingTo(Comparator.reverseOrder()).allMatch(age -> age >= 0);
    assertThat(api.get("/top/sessions?by=oldest&limit=1").members("clientId")).containsExactly("first");
    assertThat(broker.bean("Sessions", SessionsMXBean.class).top(SessionFigure.OLDEST, 10)).extracting(SessionRow::clientId).containsExactly("first", "second");
  }

  @Test
  void sharedGroupsHaveTheirMembersAndWhatWaits() throws Exception {
    absent("durable-1", "$share/both/t", "$share/durable/u/#", "$oshare/ordered/v");
    absent("durable-2", "$share/durable/u/#");
    try (var one = RawClient.connected(broker.port(), Connect.of("one").expiry(0));
        var two = RawClient.connected(broker.port(), Connect.of("two").expiry(0))) {
      one.subscribe("$share/both/t", 1);
      two.subscribe("$share/both/t", 1);
      two.subscribe("$share/online/t", 1);
      publish("u/1", 3, "waits");

      Answer all = api.get("/groups");
      assertThat(all.members("filter")).containsExactly("$oshare/ordered/v", "$share/both/t", "$share/durable/u/#", "$share/online/t");
      assertThat(all.members("clients")).containsExactly("0", "2", "0", "1");
      assertThat(all.members("sessions")).containsExactly("1", "1", "2", "0");
      assertThat(all.members("sessionsConnected")).containsOnly("0");
      assertThat(all.members("messages")).containsExactly("0", "0", "3", "0");
      assertThat(all.members("clientsDealt")).containsOnly("0");
      assertThat(all.members("sessionsDealt")).containsOnly("0");
      assertThat(all.members("stalled")).containsOnly("false");
      Answer first = api.get("/groups?limit=2");
      assertThat(first.members("filter")).isEqualTo(all.members("filter").subList(0, 2));
      assertThat(api.get("/groups?limit=2&cursor=" + first.member("next")).members("filter")).isEqualTo(all.members("filter").subList(2, 4));
      assertThat(broker.bean("Clients", ClientsMXBean.class).groups("default", "", 10)).extracting(GroupOfClients::members).containsExactly(2, 1);
      assertThat(broker.bean("Sessions", SessionsMXBean.class).groups("default", "$share", 10)).extracting(GroupOfSessions::members).containsExactly(1, 2);
      assertThat(api.get("/groups?tenant=another").members("filter")).isEmpty();
      assertThat(api.get("/groups?limit=1001").status()).isEqualTo(400);
    }
  }

  @Test
  void groupsCountWhatTheirMembersWereGivenAndWhatWaitsForEach() throws Exception {
    absent("durable-1", "$oshare/ordered/v");
    try (var one = RawClient.connected(broker.port(), Connect.of("one").expiry(0).receiveMaximum(1));
        var slow = RawClient.connected(broker.port(), Connect.of("slow").receiveMaximum(1))) {
      one.subscribe("$share/online/t", 1);
      slow.subscribe("$oshare/ordered/v", 1);
      slow.subscribe("$share/durable/u", 1);
      publish("t", 3, "");
      publish("v", 300, "");
      publish("u", 4, "");

      Answer all = api.get("/groups");
      assertThat(all.members("filter")).containsExactly("$oshare/ordered/v", "$share/durable/u", "$share/online/t");
      assertThat(all.members("clientsDealt")).containsExactly("0", "0", "3");
      List<Integer> dealt = all.members("sessionsDealt").stream().map(Integer::valueOf).toList();
      List<Integer> waiting = all.members("messages").stream().map(Integer::valueOf).toList();
      assertThat(dealt.getFirst() + waiting.getFirst()).as("given to the members of the ordered group, or waiting for one of them").isEqualTo(300);
      assertThat(waiting.getFirst()).as("what is beyond the window of one member").isPositive();
      assertThat(dealt.get(1)).isEqualTo(4);
      assertThat(api.get("/groups").members("bytes").getFirst()).isNotEqualTo("0");

      Answer member = api.get("/subscribers?filter=$share/online/t");
      assertThat(member.members("clientId")).containsExactly("one");
      assertThat(member.members("unacknowledged")).containsExactly("1");
      assertThat(member.members("credit")).as("a Receive Maximum of 1").containsExactly("0");
      assertThat(member.members("dealt")).containsExactly("3");
      assertThat(member.members("waiting")).containsExactly("2");
      assertThat(member.members("groupWaiting")).as("it has what waits for it").containsExactly("-1");
      Answer durable = api.get("/subscribers?filter=$share/durable/u");
      assertThat(durable.members("unacknowledged")).containsExactly("4");
      assertThat(durable.members("dealt")).containsExactly("4");
      assertThat(durable.members("groupWaiting")).as("it would wait for any member").containsExactly("0");
      int window = Integer.parseInt(durable.members("credit").getFirst()) + 4;
      Answer ordered = api.get("/subscribers?filter=$oshare/ordered/v");
      assertThat(ordered.members("clientId")).containsExactly("durable-1", "slow");
      assertThat(ordered.members("credit").getFirst()).as("it is away").isEqualTo("0");
      assertThat(ordered.members("unacknowledged").stream().mapToInt(Integer::valueOf).sum()).isEqualTo(dealt.getFirst());
      assertThat(ordered.members("dealt").stream().mapToInt(Integer::valueOf).sum()).isEqualTo(dealt.getFirst());
      assertThat(ordered.members("groupWaiting")).as("all for the member that is connected").containsExactly("0", waiting.getFirst().toString());
      assertThat(Integer.parseInt(ordered.members("unacknowledged").getLast()) + Integer.parseInt(ordered.members("credit").getLast())).isEqualTo(window);
    }
  }

  @Test
  void whoHasSubscribedIsFoundByFilterAndByTopic() throws Exception {
    absent("durable-1", "plant/+", "$share/group/plant/7");
    absent("durable-2", "plant/+");
    try (var one = RawClient.connected(broker.port(), Connect.of("one").expiry(0));
        var two = RawClient.connected(broker.port(), Connect.of("two").expiry(0))) {
      for (RawClient each : List.of(one, two)) each.subscribe("plant/#", 2);
      one.subscribe("plant/+", 0);
      two.subscribe("$share/group/plant/7", 1);
      one.subscribe("elsewhere", 1);
      String node = broker.node().nodeId();

      Answer filter = api.get("/subscribers?filter=plant/%2B");
      assertThat(filter.members("clientId")).containsExactly("durable-1", "durable-2", "one");
      assertThat(filter.members("node")).containsExactly("", "", node);
      assertThat(filter.members("durable")).containsExactly("true", "true", "false");
      assertThat(filter.members("qos")).containsExactly("1", "1", "0");
      assertThat(filter.members("unacknowledged")).containsExactly("-1", "-1", "0");
      assertThat(filter.members("credit").subList(0, 2)).containsOnly("-1");
      assertThat(Integer.parseInt(filter.members("credit").getLast())).as("its Receive Maximum").isPositive();
      assertThat(filter.members("dealt")).as("no group").containsOnly("-1");
      assertThat(filter.members("groupWaiting")).as("no group").containsOnly("-1");
      assertThat(pages("/subscribers?filter=plant/%2B", "clientId")).isEqualTo(filter.members("clientId"));
      assertThat(api.get("/subscribers?filter=$share/group/plant/7").members("clientId")).containsExactly("durable-1", "two");
      assertThat(api.get("/subscribers?filter=$share/group/plant/7").members("group")).containsOnly("group");
      assertThat(api.get("/subscribers?filter=plant/7").members("clientId")).as("no filter that is subscribed to").isEmpty();

      Answer topic = api.get("/subscribers?topic=plant/7");
      assertThat(topic.members("filter")).containsExactly("$share/group/plant/7", "$share/group/plant/7", "plant/#", "plant/#", "plant/+", "plant/+", "plant/+");
      assertThat(topic.members("clientId")).containsExactly("durable-1", "two", "one", "two", "durable-1", "durable-2", "one");
      assertThat(pages("/subscribers?topic=plant/7", "clientId")).isEqualTo(topic.members("clientId"));
      assertThat(api.get("/subscribers?topic=plant/7&tenant=another").members("clientId")).isEmpty();
      assertThat(broker.bean("Clients", ClientsMXBean.class).subscribers("default", "plant/#", "one", 10)).extracting(SubscriberRow::clientId).containsExactly("two");
      assertThat(broker.bean("Sessions", SessionsMXBean.class).subscribers("default", "plant/+", "", 1)).extracting(SubscriberRow::clientId).containsExactly("durable-1");

      one.send(RawClient.UNSUBSCRIBE, RawClient.u16(9), RawClient.noProperties(), "plant/+");
      one.expect(RawClient.UNSUBACK);
      assertThat(api.get("/subscribers?filter=plant/%2B").members("clientId")).containsExactly("durable-1", "durable-2");
    }
    for (String wrong : List.of("", "topic=a&filter=a", "filter=a/%23/b", "filter=$share/x", "topic=a/%2B", "topic=a&cursor=YWI", "topic=a&limit=1001")) {
      assertThat(api.get("/subscribers?" + wrong).status()).as(wrong).isEqualTo(400);
    }
  }

  /** A member of all rows, which come one in a page. */
  private List<String> pages(String path, String member) {
    List<String> all = new ArrayList<>();
    String next = "";
    do {
      Answer page = api.get(path + "&limit=1" + (next.isEmpty() ? "" : "&cursor=" + next));
      all.addAll(page.members(member));
      next = page.member("next");
    } while (!next.isEmpty());
    return all;
  }

  @Test
  void theRoutesOfATopicNameItsNodesAndShards() throws Exception {
    absent("durable", "plant/+");
    try (var online = RawClient.connected(broker.port(), Connect.of("online").expiry(0))) {
      online.subscribe("plant/#", 1);
      online.subscribe("$share/group/plant/7", 1);
      online.subscribe("elsewhere", 1);

      Answer all = api.get("/routes?topic=plant/7");
      assertThat(all.members("filter")).containsExactly("$share/group/plant/7", "plant/#", "plant/+");
      assertThat(all.members("group")).containsExactly("group", "", "");
      assertThat(all.members("destination")).containsExactly("frontend", "frontend", "inbox");
      assertThat(all.members("shard").getFirst()).isEqualTo(broker.node().nodeId());
      Answer first = api.get("/routes?topic=plant/7&limit=2");
      assertThat(first.members("filter")).isEqualTo(all.members("filter").subList(0, 2));
      assertThat(api.get("/routes?topic=plant/7&limit=2&cursor=" + first.member("next")).members("filter")).containsExactly("plant/+");
      assertThat(broker.bean("Routes", RoutesMXBean.class).match("default", "plant/7", "", 10)).extracting(RouteRow::filter).isEqualTo(all.members("filter"));
      assertThat(broker.bean("Routes", RoutesMXBean.class).getRoutes()).isGreaterThanOrEqualTo(4);

      assertThat(api.get("/routes?topic=plant").members("filter")).containsExactly("plant/#");
      assertThat(api.get("/routes?topic=none").members("filter")).isEmpty();
      assertThat(api.get("/routes?topic=plant/7&tenant=another").members("filter")).isEmpty();
      assertThat(api.get("/routes?topic=" + "a/".repeat(1_000)).members("filter")).as("deeper than any filter").isEmpty();
      assertThat(api.get("/routes?topic=plant/%23").status()).as("a filter").isEqualTo(400);
      assertThat(api.get("/routes").status()).as("without a topic").isEqualTo(400);
      assertThat(api.get("/routes?topic=a&limit=1001").status()).isEqualTo(400);
    }
    await().atMost(TestBroker.SOON).until(() -> api.get("/routes?topic=plant/7").members("filter").equals(List.of("plant/+")));
  }
}
