package dunlin.connecting;

import static dunlin.harness.RawClient.CONNACK;
import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBCOMP;
import static dunlin.harness.RawClient.PUBREC;
import static dunlin.harness.RawClient.SUBACK;
import static dunlin.harness.RawClient.SUBSCRIBE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.broker.access.AccessAction;
import dunlin.broker.access.AccessRule;
import dunlin.broker.access.Policy;
import dunlin.broker.auth.Authorizer;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import dunlin.harness.RuledBroker;
import dunlin.runtime.DropReason;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients ask for, under access rules: publishes, subscriptions and wills; and where the rules come from. */
class AuthorisationIT {
  private static final String[] RULES = {
    "allow user reader publish up/%c qos=1", "allow user reader publish retained/# retain=yes", "allow user reader publish up/two",
    "deny user reader read home/secret/#", "allow user reader read home/# qos=1", "allow user reader read jobs/# share=workers", "deny user reader all wills/no",
    "allow user reader publish wills/#"
  };

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(ints = {3, 4, 5})
  void whatMayNotBePublishedReachesNoClient(int level) {
    int denied = level == 5 ? 0x87 : 0;
    try (var ruled = new RuledBroker(directory, RULES);
        Hive admin = ruled.admin().subscribe("#", 2);
        var client = RawClient.connected(ruled.broker().port(), RuledBroker.connect(level, "reader", "c1", true, 0))) {
      assertThat(client.publishAndWait("up/other", "no")).isEqualTo(denied);
      assertThat(client.publishAndWait("retained/x", "no")).isEqualTo(denied);
      client.publish("up/c1", 2, 900, "no: QoS 2");
      RawClient.Packet pubrec = client.next(PUBREC);
      assertThat(pubrec.reason()).isEqualTo(denied);
      if (level < 5) {
        client.pubrel(900);
        client.next(PUBCOMP);
      }
      client.publish("up/other", 0, 0, "no: QoS 0");
      client.publish("retained/y", "yes: retained", 0, 0, false, true);
      client.publish("up/two", 2, 901, "yes: QoS 2");
      assertThat(client.next(PUBREC).reason()).isZero();
      client.pubrel(901);
      client.next(PUBCOMP);
      assertThat(client.publishAndWait("up/c1", "yes")).isZero();

      assertThat(admin.before("yes")).extracting(Hive::text).containsExactlyInAnyOrder("yes: retained", "yes: QoS 2");
      assertThat(ruled.broker().frontend().publishes().dropped(DropReason.NOT_AUTHORIZED)).isEqualTo(4);
      assertThat(ruled.denied("publish")).isEqualTo(4);
    }
  }

  /** A topic alias is no way around the rules. */
  @Test
  void anAliasStandsForItsTopic() {
    try (var ruled = new RuledBroker(directory, RULES); var client = ruled.connected("reader", "c1")) {
      client.send(RawClient.PUBLISH | 2, "secret", RawClient.u16(7), RawClient.properties(RawClient.topicAlias(1)), new byte[] {1});
      assertThat(client.next(PUBACK).reason()).isEqualTo(0x87);
      client.send(RawClient.PUBLISH | 2, "", RawClient.u16(8), RawClient.properties(RawClient.topicAlias(1)), new byte[] {1});
      assertThat(client.next(PUBACK).reason()).isEqualTo(0x87);
    }
  }

  /** The same denied QoS 2 message of a durable session of MQTT 3, again after it was resumed. */
  @Test
  void aDeniedExchangeEndsAsAnyOther() {
    try (var ruled = new RuledBroker(directory, RULES)) {
      byte[] connect = RuledBroker.connect(4, "reader", "c1", false, 0);
      for (int i = 0; i < 2; i++) {
        try (var client = RawClient.connected(ruled.broker().port(), connect)) {
          client.publish("no", "no", 2, 1, i > 0);
          client.next(PUBREC);
          if (i == 0) continue;
          client.pubrel(1);
          client.next(PUBCOMP);
          assertThat(client.publishAndWait("up/c1", "yes")).isZero();
        }
      }
    }
  }

  @Test
  void aFilterIsGrantedOnlyIfARuleCoversIt() {
    try (var ruled = new RuledBroker(directory, RULES)) {
      String[] filters = {
        "home/room", "home/#", "home/+", "home/secret", "home/secret/#", "#", "+/room", "other", "$SYS/#", "jobs/#", "$share/workers/jobs/+", "$oshare/workers/jobs/1",
        "$share/thieves/jobs/+", "$share/workers/other", "$share/g/home/#"
      };
      try (var client = ruled.connected("reader", "c1")) {
        assertThat(suback(client, 1, filters))
            .containsExactly(1, 1, 1, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 1, 1, 0x87, 0x87, 0x87);
        assertThat(suback(client, 2, "home/kitchen")).as("the highest QoS that a rule allows").containsExactly(1);
        assertThat(suback(client, 0, "home/kitchen")).containsExactly(0);
      }
      assertThat(ruled.denied("subscribe")).isEqualTo(10);
      try (var client = RawClient.connected(ruled.broker().port(), RuledBroker.connect(4, "reader", "c2", true, 0))) {
        assertThat(suback(client, 1, "home/room", "other")).containsExactly(1, 0x80);
      }
    }
  }

  private static List<Integer> suback(RawClient client, int qos, String... filters) {
    boolean five = client.connectedWith() == 5;
    Object[] asked = Arrays.stream(filters).flatMap(filter -> Arrays.stream(new Object[] {filter, qos})).toArray();
    client.send(SUBSCRIBE, RawClient.u16(77), five ? RawClient.noProperties() : new byte[0], RawClient.bytes(asked));
    byte[] body = client.next(SUBACK).body();
    return Arrays.stream(Arrays.copyOfRange(toInts(body), body.length - filters.length, body.length)).boxed().toList();
  }

  private static int[] toInts(byte[] bytes) {
    int[] all = new int[bytes.length];
    for (int i = 0; i < all.length; i++) all[i] = bytes[i] & 0xFF;
    return all;
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4, 5})
  void aWillIsCheckedAtConnect(int level) {
    try (var ruled = new RuledBroker(directory, RULES); Hive admin = ruled.admin().subscribe("wills/#", 1)) {
      for (String topic : new String[] {"wills/no", "elsewhere"}) {
        try (var client = new RawClient(ruled.broker().port())) {
          client.send(RuledBroker.willing(level, "reader", "c1", topic, 0));
          assertThat(client.expect(CONNACK).at(1)).isEqualTo(level == 5 ? 0x87 : 5);
          client.expectClosed();
        }
      }
      try (var client = RawClient.connected(ruled.broker().port(), RuledBroker.willing(level, "reader", "c2", "wills/yes", 0))) {
        client.reset();
      }
      assertThat(admin.next().getTopic()).hasToString("wills/yes");
      assertThat(ruled.denied("will")).isEqualTo(2);
    }
  }

  // --------------------------------------------------------------------------------------------- where the rules come from

  @Test
  void aWrongFileStopsTheStart() throws IOException {
    Path acl = Files.writeString(directory.resolve("acl"), "allow everyone all #\nallow everyone publish a/%x\n");
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), Map.of("dunlin.auth.acl-file", acl.toString())))
        .isInstanceOf(SettingException.class)
        .hasMessageStartingWith("dunlin.auth.acl-file: " + acl + ": line 2, column 26: unknown placeholder");
    Files.writeString(acl, "");
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), Map.of("dunlin.auth.acl-file", acl.toString())))
        .hasMessageContaining("there is no rule");
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), Map.of("dunlin.auth.acl-file", directory.resolve("none").toString())))
        .hasMessageContaining("there is no such file");
    assertThat(directory.resolve("data")).doesNotExist();
  }

  private static Dunlin node(Authorizer authorizer, Map<String, String> settings) {
    var builder = Dunlin.builder().inMemory().tcpPort(0).authorizer(authorizer);
    settings.forEach(builder::set);
    return builder.build();
  }

  @Test
  void anAuthorizerMayAnswerLater() {
    Authorizer later =
        (client, peer) -> {
          assertThat(peer).isPresent();
          var policy = Policy.of(client, List.of(AccessRule.of(true, Set.of(AccessAction.PUBLISH), "%c/#")));
          return new CompletableFuture<Policy>().completeOnTimeout(policy, 100, TimeUnit.MILLISECONDS);
        };
    try (Dunlin node = node(later, Map.of());
        var client = RawClient.connected(node.tcpPort(), RawClient.connect(5, true, 0, "me", RawClient.noProperties()))) {
      client.publish("me/x", 1, 1, "");
      assertThat(client.next(PUBACK).reason()).isEqualTo(0x10);
      client.publish("you/x", 1, 2, "");
      assertThat(client.next(PUBACK).reason()).isEqualTo(0x87);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  void noAnswerIsNo(int level) {
    Authorizer fails =
        (client, _) ->
            switch (client.clientId()) {
              case "throws" -> throw new IllegalStateException("for a test");
              case "null" -> nothing();
              case "nothing" -> CompletableFuture.completedFuture(nothing());
              case "failed" -> CompletableFuture.failedFuture(new IllegalStateException("for a test"));
              default -> new CompletableFuture<>();
            };
    try (Dunlin node = node(fails, Map.of("dunlin.auth.timeout", "200ms"))) {
      for (String clientId : new String[] {"throws", "null", "nothing", "failed", "never"}) {
        try (var client = new RawClient(node.tcpPort())) {
          client.send(RawClient.connect(level, true, 0, clientId, RawClient.noProperties()));
          assertThat(client.expect(CONNACK).at(1)).as(clientId).isEqualTo(level == 5 ? 0x87 : 5);
          client.expectClosed();
        }
      }
    }
  }

  @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
  private static <T> T nothing() {
    return null;
  }

  @Test
  void thereIsOneSourceOfRules() throws IOException {
    Path acl = Files.writeString(directory.resolve("acl"), "allow everyone all #\n");
    assertThatThrownBy(() -> node((_, _) -> new CompletableFuture<>(), Map.of("dunlin.auth.acl-file", acl.toString())))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("only one source of access rules");
  }

  /** The policy of an authorizer for a will that is sent after the connection has ended. */
  @Test
  void anAuthorizerIsAskedAgainForAWill() {
    Authorizer onlyConnected =
        (client, peer) ->
            CompletableFuture.completedFuture(
                Policy.of(
                    client,
                    List.of(
                        AccessRule.of(peer.isPresent() || !client.clientId().equals("no"), Set.of(AccessAction.PUBLISH), "#"),
                        AccessRule.of(true, Set.of(AccessAction.values()), "#"))));
    try (Dunlin node = node(onlyConnected, Map.of());
        var watcher = RawClient.connected(node.tcpPort(), RawClient.connect(5, true, 0, "w", RawClient.noProperties()))) {
      watcher.subscribe("#", 1);
      for (String clientId : new String[] {"no", "yes"}) {
        RawClient.connected(node.tcpPort(), RawClient.Connect.of(clientId).clean().expiry(0).will("wills", clientId, 1, 0)).reset();
        if (clientId.equals("no")) {
          await().atMost(TestBroker.SOON).until(() -> TestBroker.frontend(node).publishes().dropped(DropReason.NOT_AUTHORIZED) == 1);
        }
      }
      assertThat(watcher.take().text()).isEqualTo("yes");
    }
  }
}
