package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionExports.Allowed;
import dunlin.inbox.SessionExports.Begun;
import dunlin.inbox.SessionExports.Ended;
import dunlin.inbox.SessionExports.Imported;
import dunlin.inbox.SessionExports.OfGroup;
import dunlin.inbox.SessionExports.Page;
import dunlin.inbox.SessionExports.Part;
import dunlin.inbox.SessionExports.Subscribed;
import dunlin.inbox.SessionExports.Waiting;
import dunlin.inbox.SessionRef;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions that leave one session tier and come to another one. */
class SessionExportsTest {
  private static final TopicFilter GROUP = TopicFilter.parse("$share/g/a").orElseThrow();
  private static final TopicFilter ORDERED = TopicFilter.parse("$oshare/g/a").orElseThrow();

  private static List<Part> exported(InboxNode from, String prefix, int partsMax, int bytesMax) {
    List<Part> parts = new ArrayList<>();
    SessionExports exports = from.server.exports();
    byte[] next = null;
    do {
      Page page = exports.page(InboxNode.TENANT, prefix, next, partsMax, bytesMax);
      assertThat(page.parts().size()).isLessThanOrEqualTo(partsMax + 1);
      parts.addAll(page.parts());
      next = page.next();
    } while (next != null);
    return parts;
  }

  private static Imported imported(InboxNode to, List<Part> parts) {
    return to.server.exports().importAll(InboxNode.TENANT, parts, Allowed.ALL);
  }

  private static String text(Part part) {
    return switch (part) {
      case Begun(var client, var user, var received) -> client + " begins " + user + received;
      case Waiting(var client, var message) -> client + " has " + message.sequence() + " " + payload(message);
      case Subscribed(var client, var filter, var options) -> client + " subscribes " + filter.text() + " " + options.maximumQoS().code();
      case Ended(var client, var seconds) -> client + " ends " + seconds;
      case OfGroup(var group, var message) -> group.text() + " has " + new String(message.payload(), StandardCharsets.UTF_8);
    };
  }

  private static String payload(InboxMessage message) {
    return new String(message.message().payload(), StandardCharsets.UTF_8);
  }

  private static void leave(InboxNode node, Connected client, long expirySeconds) throws Exception {
    InboxNode.get(node.server.disconnect(client.session(), false, expirySeconds));
  }

  private static void absent(InboxNode node, String clientId, String... filters) throws Exception {
    Connected client = node.connect(clientId);
    for (String filter : filters) node.subscribe(client.session(), filter, QoS.EXACTLY_ONCE);
    leave(node, client, 3_600);
  }

  private static List<String> fetched(InboxNode node, SessionRef session) throws Exception {
    return InboxNode.get(node.server.fetch(session, 1, 1_000, 1 << 20)).messages().stream().map(SessionExportsTest::payload).toList();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void sessionsComeWholeAndInOrder(int ranges) throws Exception {
    try (var from = new InboxNode(null, ranges, InboxSettings.defaults()); var to = new InboxNode(null, ranges, InboxSettings.defaults())) {
      absent(from, "absent", "a", "b/#");
      Connected online = from.connect("online");
      from.subscribe(online.session(), "a", QoS.AT_LEAST_ONCE);
      Connected forever = from.connect("forever");
      leave(from, forever, 0xFFFF_FFFFL);
      Connected over = from.connect("over");
      leave(from, over, 10);
      for (int i = 1; i <= 5; i++) assertThat(from.publish("m" + i)).isEqualTo(ReasonCode.SUCCESS);
      from.now.addAndGet(11_000);

      List<Part> all = exported(from, "", 500, 1 << 20);
      assertThat(all.stream().map(SessionExportsTest::text).sorted())
          .containsExactly(
              "absent begins []", "absent ends 3589", "absent has 1 m1", "absent has 2 m2", "absent has 3 m3", "absent has 4 m4", "absent has 5 m5", "absent subscribes a 2",
              "absent subscribes b/# 2", "forever begins []", "forever ends 4294967295", "online begins []", "online ends 3600", "online has 1 m1", "online has 2 m2",
              "online has 3 m3", "online has 4 m4", "online has 5 m5", "online subscribes a 1");
      assertThat(exported(from, "", 1, 1 << 20).stream().map(SessionExportsTest::text)).as("small pages").isEqualTo(all.stream().map(SessionExportsTest::text).toList());
      assertThat(exported(from, "", 500, 1).stream().map(SessionExportsTest::text)).as("few bytes").isEqualTo(all.stream().map(SessionExportsTest::text).toList());
      assertThat(exported(from, "o", 2, 1 << 20)).hasSize(8).allMatch(part -> part.clientId().equals("online"));

      assertThat(imported(to, all)).isEqualTo(new Imported(3, 0, 0, 10, 0, Map.of()));
      assertThat(imported(to, all)).as("again").isEqualTo(new Imported(0, 3, 0, 0, 0, Map.of()));
      assertThat(to.routes).anyMatch(route -> route.endsWith(" a")).anyMatch(route -> route.endsWith(" b/#"));
      assertThat(to.publish("m6")).isEqualTo(ReasonCode.SUCCESS);

      Connected resumed = to.connect("absent");
      assertThat(resumed.sessionPresent()).isTrue();
      assertThat(resumed.subscriptions()).hasSize(2);
      assertThat(fetched(to, resumed.session())).containsExactly("m1", "m2", "m3", "m4", "m5", "m6");
      assertThat(InboxNode.get(to.server.fetch(to.connect("online").session(), 1, 10, 1 << 20)).messages()).extracting(InboxMessage::delivered).containsExactly(true, true, true, true, true, false);
      to.assertBalance();
    }
  }

  @Test
  void whatWaitsInGroupsComes() throws Exception {
    try (var from = new InboxNode(null, InboxSettings.defaults()); var to = new InboxNode(null, InboxSettings.defaults())) {
      absent(from, "one", "$share/g/a", "$oshare/g/a");
      absent(from, "two", "$share/g/a", "$oshare/g/a");
      for (int i = 1; i <= 4; i++) assertThat(from.publish("m" + i, GROUP, ORDERED)).isEqualTo(ReasonCode.SUCCESS);

      List<Part> all = exported(from, "", 3, 1 << 20);
      assertThat(all.stream().filter(OfGroup.class::isInstance).map(SessionExportsTest::text).sorted())
          .containsExactly(
              "$oshare/g/a has m1", "$oshare/g/a has m2", "$oshare/g/a has m3", "$oshare/g/a has m4", "$share/g/a has m1", "$share/g/a has m2", "$share/g/a has m3",
              "$share/g/a has m4");
      assertThat(exported(from, "t", 3, 1 << 20)).as("with a prefix").noneMatch(OfGroup.class::isInstance);
      assertThat(imported(to, all)).isEqualTo(new Imported(2, 0, 0, 8, 0, Map.of()));

      Connected one = to.connect("one");
      await().untilAsserted(() -> assertThat(fetched(to, one.session()).stream().filter("m1"::equals)).hasSize(2));
      await().untilAsserted(() -> assertThat(fetched(to, one.session())).containsSubsequence("m1", "m2", "m3", "m4").hasSize(8));
    }
  }

  @Test
  void aMessageOfAGroupWithoutMembersIsRefused() throws Exception {
    try (var to = new InboxNode(null, InboxSettings.defaults())) {
      var message = to.message(QoS.AT_LEAST_ONCE, "m");
      assertThat(imported(to, List.of(new OfGroup(GROUP, message)))).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("no-members", 1)));
    }
  }

  @Test
  void aSessionWithoutItsEndIsNotThere() throws Exception {
    try (var to = new InboxNode(null, InboxSettings.defaults())) {
      List<Part> parts = List.of(new Begun("half", "", List.of()), waiting(to, "half", 1), new Begun("whole", "", List.of()), new Ended("whole", 3_600));
      assertThat(imported(to, parts)).isEqualTo(new Imported(1, 0, 1, 1, 0, Map.of()));
      awaitEnd(to, "half");

      assertThat(imported(to, List.of(new Begun("half", "", List.of()), waiting(to, "half", 1)))).as("more may follow").isEqualTo(new Imported(0, 0, 0, 1, 0, Map.of()));
      assertThat(exported(to, "half", 10, 1 << 20)).as("not while it is imported").isEmpty();
      Imported rest =
          imported(to, List.of(waiting(to, "half", 1), waiting(to, "half", 2), new Subscribed("half", GROUP, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)), new Ended("half", 60)));
      assertThat(rest).isEqualTo(new Imported(1, 0, 0, 1, 0, Map.of()));
      assertThat(fetched(to, to.connect("half").session())).containsExactly("m1", "m2");
    }
  }

  /** The connection of its import is lost some time, and a second later it expires. */
  private static void awaitEnd(InboxNode node, String clientId) {
    await().untilAsserted(
        () -> {
          node.now.addAndGet(1_001);
          assertThat(node.server.operations().list(InboxNode.TENANT, clientId, "", 10)).isEmpty();
        });
  }

  private static Waiting waiting(InboxNode node, String clientId, long sequence) {
    return new Waiting(clientId, new InboxMessage(sequence, QoS.AT_LEAST_ONCE, false, false, false, new int[0], node.message(QoS.AT_LEAST_ONCE, "m" + sequence)));
  }

  @Test
  void aSessionThatIsLeftHalfEndsWithTheLeadership() throws Exception {
    try (var to = new InboxNode(null, InboxSettings.defaults())) {
      imported(to, List.of(new Begun("half", "", List.of()), waiting(to, "half", 1)));
      to.now.addAndGet(1);
      to.leadAgain();
      assertThat(imported(to, List.of(waiting(to, "half", 2), new Ended("half", 60)))).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("not-begun", 1)));

      awaitEnd(to, "half");
      assertThat(imported(to, List.of(waiting(to, "half", 2), new Ended("half", 60)))).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("not-begun", 1)));
    }
  }

  @Test
  void aClientThatConnectsInBetweenKeepsTheSession() throws Exception {
    try (var to = new InboxNode(null, InboxSettings.defaults())) {
      imported(to, List.of(new Begun("c", "", List.of()), waiting(to, "c", 1)));
      Connected client = to.connect("c");
      assertThat(client.sessionPresent()).isTrue();

      assertThat(imported(to, List.of(waiting(to, "c", 2), new Ended("c", 60)))).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("taken-over", 1)));
      assertThat(imported(to, whole("c"))).isEqualTo(new Imported(0, 1, 0, 0, 0, Map.of()));
      assertThat(fetched(to, client.session())).containsExactly("m1");
    }
  }

  @Test
  void limitsHoldAndRefusalsAreCounted() throws Exception {
    var usual = InboxSettings.defaults();
    var settings = new InboxSettings(usual.layout(), usual.messagesMax(), usual.bytesMax(), usual.overflow(), 1, usual.groupWindow(), InboxSettings.Sums.ofSessions(3));
    try (var to = new InboxNode(null, settings)) {
      to.server.limitTenants(tenant -> tenant.equals("small") ? 1 : Long.MAX_VALUE, TenantQuota.UNLIMITED, TenantQuota.UNLIMITED);
      var plain = SubscriptionOptions.of(QoS.AT_LEAST_ONCE);
      List<Part> many =
          List.of(
              new Begun("many", "", List.of()), new Subscribed("many", TopicFilter.plain("a"), plain), new Subscribed("many", TopicFilter.plain("b"), plain), new Ended("many", 60));
      assertThat(imported(to, many).refused()).containsOnly(Map.entry("subscriptions", 1));
      assertThat(to.server.exports().importAll("small", whole("s1"), Allowed.ALL).sessions()).isEqualTo(1);
      assertThat(to.server.exports().importAll("small", whole("s2"), Allowed.ALL).refused()).containsOnly(Map.entry("tenant-sessions", 1));
      awaitEnd(to, "many");
      assertThat(imported(to, whole("c1")).sessions() + imported(to, whole("c2")).sessions()).isEqualTo(2);
      assertThat(imported(to, whole("c3"))).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("sessions", 1)));
    }
  }

  @Test
  void whatTheBrokerRefusesIsRefusedAsAWhole() throws Exception {
    try (var to = new InboxNode(null, InboxSettings.defaults())) {
      SessionExports exports = to.server.exports();
      var plain = SubscriptionOptions.of(QoS.AT_LEAST_ONCE);
      var a = new Subscribed("c", TopicFilter.plain("a"), plain);
      var b = new Subscribed("c", TopicFilter.plain("b"), plain);
      var begin = new Begun("c", "", List.of());
      var end = new Ended("c", 60);
      var one = new Allowed(1, Map.of());
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, a, b, end), one)).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("subscriptions", 1)));
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, waiting(to, "c", 1), a), one).refused()).as("it goes on in the next call").isEmpty();
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, waiting(to, "c", 1), a), one).refused()).as("again").isEmpty();
      assertThat(exports.importAll(InboxNode.TENANT, List.of(b, end), one)).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("subscriptions", 1)));
      awaitEnd(to, "c");

      var denied = new Allowed(2, Map.of("c", "not-here"));
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, a, b), new Allowed(2, Map.of("d", "not-here"))).refused()).isEmpty();
      assertThat(exports.importAll(InboxNode.TENANT, List.of(end), denied)).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("not-here", 1)));
      awaitEnd(to, "c");
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, a, b, end), denied)).isEqualTo(new Imported(0, 0, 0, 0, 0, Map.of("not-here", 1)));
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, a, b, end), Allowed.ALL).sessions()).isEqualTo(1);
      assertThat(exports.importAll(InboxNode.TENANT, List.of(begin, a, b, end), denied)).as("it is there").isEqualTo(new Imported(0, 1, 0, 0, 0, Map.of()));
    }
  }

  private static List<Part> whole(String clientId) {
    return List.of(new Begun(clientId, "", List.of()), new Ended(clientId, 3_600));
  }

  @Test
  void messagesThatHaveExpiredAreLeftOut() throws Exception {
    try (var from = new InboxNode(null, InboxSettings.defaults()); var to = new InboxNode(null, InboxSettings.defaults())) {
      absent(from, "c", "a");
      from.publishExpiring("soon", 5);
      from.publishExpiring("later", 100);
      List<Part> early = exported(from, "", 10, 1 << 20);
      to.now.set(from.now.get() + 6_000);
      assertThat(imported(to, early)).isEqualTo(new Imported(1, 0, 0, 1, 1, Map.of()));
      from.now.addAndGet(6_000);
      assertThat(exported(from, "", 10, 1 << 20).stream().map(SessionExportsTest::text)).contains("c has 2 later").doesNotContain("c has 1 soon");
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2})
  void wrongCursorsAreRefusedOrReadSomething(long seed) throws Exception {
    Random random = new Random(seed);
    try (var from = new InboxNode(null, InboxSettings.defaults())) {
      absent(from, "c", "a", "$share/g/a");
      from.publish("m", GROUP);
      SessionExports exports = from.server.exports();
      assertThatThrownBy(() -> exports.page(InboxNode.TENANT, "", new byte[] {1, 2}, 10, 1 << 20)).isInstanceOf(IllegalArgumentException.class);
      byte[] next = null;
      do {
        Page page = exports.page(InboxNode.TENANT, "", next, 1, 1 << 20);
        next = page.next();
        if (next == null) break;
        for (int i = 0; i < 200; i++) {
          byte[] changed = next.clone();
          changed[random.nextInt(changed.length)] ^= (byte) (1 << random.nextInt(8));
          try {
            assertThat(exports.page(InboxNode.TENANT, "", changed, 10, 1 << 20)).isNotNull();
          } catch (IllegalArgumentException refused) {
            assertThat(refused).as("seed %d", seed).hasMessageContaining("cursor");
          }
        }
      } while (true);
    }
  }
}
