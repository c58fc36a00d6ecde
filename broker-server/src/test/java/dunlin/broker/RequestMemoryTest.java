package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.codec.Wire;
import dunlin.broker.limit.NodeBudget;
import dunlin.dist.route.RouteQuotaException;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the SUBSCRIBE and UNSUBSCRIBE packets of all clients keep while the stores do not answer. */
class RequestMemoryTest {
  private static final int LIMIT = 64 * 1_024;
  private static final int LARGE = 64 << 20;

  /** The bytes that the loop keeps in reserve. */
  private static final int RESERVE = 512;

  private static final String PINGREQ = "c000";
  private static final String PINGRESP = "d000";

  /** The most topic filters that a packet may have here. */
  private static final int FILTERS = 10;

  private static final String LONG = "f".repeat(100);

  /** What a packet with as many long filters counts for. */
  private static final int PACKET_BYTES = FILTERS * (256 + 2 * 100);

  private static final String CLIENTS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  private final NodeBudget budget = Budgets.of(new NodeBudget.Bounds(LARGE, LARGE, LARGE, LARGE, LARGE, LIMIT, LARGE, LARGE));
  private final OpenFrontend open = new OpenFrontend(1, 1_000, budget);

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void clientsWhosePacketsWaitStayWithinTheBudgetAndAreAnsweredInTheEnd() {
    List<LoopClient> clients = CLIENTS.chars().mapToObj(letter -> durable((char) letter)).toList();
    for (LoopClient client : clients) client.send(subscribe(1, Collections.nCopies(FILTERS, LONG)));

    int waiting = open.sessions.subscribed.size();
    assertThat(waiting).isEqualTo(LIMIT / PACKET_BYTES);
    assertThat(budget.requests().used()).isBetween((long) waiting * PACKET_BYTES, (long) LIMIT);
    assertThat(budget.requests().refused()).isEqualTo(clients.size() - waiting);
    for (LoopClient client : clients.subList(waiting, clients.size())) client.hears("90.*" + "97".repeat(FILTERS));
    for (LoopClient client : clients.subList(0, waiting)) client.hearsNothing();

    LoopClient modest = clients.getLast();
    modest.send(subscribe(2, List.of("t")));
    assertThat(open.sessions.subscribed).as("a client that has nothing waiting").hasSize(waiting + 1);

    answerAll();
    for (LoopClient client : clients.subList(0, waiting)) client.hears("900d000100" + "00".repeat(FILTERS));
    modest.hears("9004000200" + "00");
    assertThat(budget.requests().used()).isLessThanOrEqualTo(RESERVE);
    LoopClient refused = clients.get(waiting);
    refused.send(subscribe(3, Collections.nCopies(FILTERS, LONG)));
    answerAll();
    refused.hears("900d000300" + "00".repeat(FILTERS));
  }

  @Test
  void aClientOfMqtt3IsRefusedAsWell() {
    fill();
    LoopClient client = LoopClient.connectedMqtt3(open.frontend(), 0, '3');

    client.send(hex(Wire.packet(0x82, Wire.u16(1), filters(Collections.nCopies(FILTERS, LONG), 0))));

    client.hears("900c0001" + "80".repeat(FILTERS));
  }

  /** Clients that connect again must not have room for the same once more while the store still holds it. */
  @Test
  void whatAStoreHoldsCountsWhenTheClientHasLeft() {
    LoopClient client = durable('c');
    client.send(subscribe(1, Collections.nCopies(FILTERS, LONG)));

    client.close();
    assertThat(open.<Long>on(0, budget.requests()::used)).isGreaterThanOrEqualTo(PACKET_BYTES);

    open.sessions.changes.getFirst().completeExceptionally(new StoreException("closed"));
    await().untilAsserted(() -> assertThat(budget.requests().used()).isLessThanOrEqualTo(RESERVE));
  }

  /** The route that is to be removed again counts among the subscriptions. */
  @Test
  void whatWaitsForARouteIsLetGoWithTheClient() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'o', 0);
    client.send(subscribe(1, Collections.nCopies(FILTERS, LONG)));
    await().until(() -> open.dist.answers.size() == 1);
    assertThat(open.<Long>on(0, budget.requests()::used)).isGreaterThanOrEqualTo(PACKET_BYTES);

    client.close();

    await().untilAsserted(() -> assertThat(budget.requests().used()).isLessThanOrEqualTo(RESERVE));
    await().until(() -> open.dist.answers.size() == 2);
    assertThat(open.dist.calls.getLast()).startsWith("-");
  }

  @Test
  void anUnsubscribeIsNotRefusedAndItsClientWaits() {
    LoopClient client = durable('u');
    client.send(subscribe(1, List.of(LONG)));
    answerAll();
    client.hears("9004000100" + "00");
    int before = open.sessions.changes.size();
    fill();
    long refused = budget.requests().refused();

    client.send(unsubscribe(2, List.of("none", LONG, "+x", LONG)) + PINGREQ);

    assertThat(open.sessions.unsubscribed).containsExactly(List.of(TopicFilter.plain(LONG)));
    assertThat(budget.requests().refused()).isEqualTo(refused + 1);
    client.hearsNothing();
    open.sessions.changes.getLast().complete(List.of(true));
    client.hears("b0..0002.*" + "11008f11" + PINGRESP);
    for (int i = before; i < open.sessions.changes.size(); i++) open.sessions.changes.get(i).completeExceptionally(new StoreException("closed"));
    await().untilAsserted(() -> assertThat(budget.requests().used()).isLessThanOrEqualTo(RESERVE));
  }

  @Test
  @Tag("MQTT-3.8.4-5")
  void equalFiltersAreStoredOnceWithTheOptionsOfTheLast() {
    LoopClient client = durable('c');

    client.send(subscribe(1, List.of("a", "b", "a", "+x", "a"), 0x21, 0x22, 0x22, 0x20, 0x20));

    assertThat(open.sessions.subscribed)
        .containsExactly(List.of(new Subscription(TopicFilter.plain("a"), options(QoS.AT_MOST_ONCE)), new Subscription(TopicFilter.plain("b"), options(QoS.EXACTLY_ONCE))));
    answerAll();
    client.hears("90..0001.*" + "0102028f00");
    client.send(subscribe(2, List.of("a", "+x", "b", "a")));
    open.sessions.changes.getLast().completeExceptionally(new StoreException("none"));
    client.hears("90..0002.*" + "838f8383");
    client.send(unsubscribe(3, List.of("a", "b", "a")));
    assertThat(open.sessions.unsubscribed).as("they were stored before").containsExactly(List.of(TopicFilter.plain("a"), TopicFilter.plain("b")));
  }

  @Test
  @Tag("MQTT-3.8.4-5")
  void equalFiltersWaitForOneRouteAndFailTogether() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);

    client.send(subscribe(1, List.of("a", "b", "a", "+x", "a"), 0x21, 0x22, 0x22, 0x20, 0x20));

    await().until(() -> open.dist.answers.size() == 2);
    assertThat(open.dist.calls).extracting(call -> call.substring(0, 2)).containsExactly("+a", "+b");
    open.on(0, () -> open.dist.answers.get(0).completeExceptionally(new StoreException("none")));
    client.hearsNothing();
    open.on(0, () -> open.dist.answers.get(1).complete(null));
    client.hears("90..0001.*" + "8302838f83");
    assertThat(open.frontend().subscriptions()).isEqualTo(1);
  }

  /** As when they come in packets of their own: the last one that asks for retained messages gets them, and there is no second read. */
  @Test
  void retainedMessagesAreReadOnceForEqualFilters() {
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);

    client.send(subscribe(1, List.of("t", "u", "t", "t"), 0x02, 0x20, 0x01, 0x22));
    await().until(() -> open.dist.answers.size() == 2);
    open.on(0, () -> open.dist.answers.get(0).complete(null));
    open.on(0, () -> open.dist.answers.get(1).complete(null));
    client.hears("9007000100" + "02000102");

    await().until(() -> open.retain.finds.size() == 1);
    open.retain.finds.getFirst().finds(OpenFrontend.message("r"));
    client.hears("33070001740001" + "00" + "72");
    client.send("40020001" + PINGREQ);
    client.hears(PINGRESP);
    assertThat(open.retain.finds).hasSize(1);
  }

  /** As in one process, where the routes answer on the thread that asks: the filter's loop, which is the client's here. */
  @Test
  void aRouteThatIsRefusedAtOnceIsNoSubscription() {
    open.dist.refuses = new RouteQuotaException(RouteQuotaException.Kind.MEMORY, 1);
    LoopClient client = LoopClient.connected(open.frontend(), 0, 'c', 0);

    client.send(subscribe(1, List.of("a", "b", "a")));

    client.hears("90..0001.*" + "979797");
    assertThat(open.frontend().subscriptions()).isZero();
    assertThat(budget.requests().used()).isLessThanOrEqualTo(RESERVE);
    open.dist.refuses = null;
    client.send(subscribe(2, List.of("a")));
    await().until(() -> open.dist.calls.getLast().startsWith("+a"));
    open.on(0, () -> open.dist.answers.getLast().complete(null));
    client.hears("90..0002.*" + "00");
  }

  private LoopClient durable(char name) {
    return LoopClient.connected(open.frontend(), 0, name, 60);
  }

  /** Has others use all of the budget: no client finds room for the smallest packet. */
  private void fill() {
    for (int next = 0; next < CLIENTS.length(); next++) {
      LoopClient client = durable(CLIENTS.charAt(next));
      long before = budget.requests().refused();
      client.send(subscribe(1, List.of("f")));
      if (budget.requests().refused() > before) return;
      for (int i = 0; i < 20; i++) client.send(subscribe(10 + i, Collections.nCopies(FILTERS, LONG)));
      for (int i = 0; i < 200; i++) client.send(subscribe(100 + i, List.of("f")));
    }
    throw new AssertionError(budget.requests().used() + " bytes are used");
  }

  private void answerAll() {
    List.copyOf(open.sessions.changes).forEach(change -> change.complete(List.of(false)));
    assertThat(open.<Boolean>on(0, () -> true)).isTrue(); // answers that were posted have come
  }

  private static SubscriptionOptions options(QoS qos) {
    return new SubscriptionOptions(qos, false, false, 2, 0);
  }

  /** With QoS 0, and Retain Handling 2: no retained messages are requested. */
  private static String subscribe(int packetId, List<String> filters) {
    return hex(Wire.packet(0x82, Wire.u16(packetId), Wire.properties(), filters(filters, 0x20)));
  }

  private static String subscribe(int packetId, List<String> filters, int... options) {
    List<Object> parts = new ArrayList<>();
    for (int i = 0; i < options.length; i++) {
      parts.add(filters.get(i));
      parts.add(options[i]);
    }
    return hex(Wire.packet(0x82, Wire.u16(packetId), Wire.properties(), Wire.bytes(parts.toArray())));
  }

  private static byte[] filters(List<String> filters, int options) {
    byte[] all = {};
    for (String filter : filters) all = Wire.join(all, Wire.bytes(filter, options));
    return all;
  }

  private static String unsubscribe(int packetId, List<String> filters) {
    byte[] all = {};
    for (String filter : filters) all = Wire.join(all, Wire.text(filter));
    return hex(Wire.packet(0xA2, Wire.u16(packetId), Wire.properties(), all));
  }

  private static String hex(byte[] packet) {
    return HexFormat.of().formatHex(packet);
  }
}
