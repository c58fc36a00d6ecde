package dunlin.broker.tenant;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.users.AccessChange;
import dunlin.broker.users.AccessClient;
import dunlin.broker.users.AccessCopy;
import dunlin.broker.users.AccessEntry;
import dunlin.broker.users.AccessEntry.Tenant.State;
import dunlin.broker.users.AccessPage;
import dunlin.broker.users.AccessResult;
import dunlin.broker.users.AccessRow;
import dunlin.broker.users.Directory;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class TenantsTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  /** Begins where a clock may be, too: so that a sum with it exceeds no long soon. */
  private final AtomicLong now = new AtomicLong(-SECOND);

  private final AtomicLong versions = new AtomicLong();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  private Tenants tenants(String limits) {
    return tenants(settings(limits, Map.of(), TenantSettings.Unknown.ALLOW));
  }

  private Tenants tenants(TenantSettings settings) {
    return new Tenants(settings, now::get, meters);
  }

  private static TenantSettings settings(String limits, Map<String, TenantLimits> own, TenantSettings.Unknown unknown) {
    return new TenantSettings(parse(limits), own, unknown, false, Map.of(), Map.of(), Set.of("blue"));
  }

  private static TenantLimits parse(String limits) {
    return TenantLimits.parse(limits.isEmpty() ? List.of() : Arrays.asList(limits.split(",", -1)));
  }

  private static Tenant entered(Entrance entrance) {
    assertThat(entrance).isInstanceOf(Entrance.Entered.class);
    return ((Entrance.Entered) entrance).tenant();
  }

  private static void assertLimited(Entrance entrance, TenantLimit limit, ReasonCode reason) {
    assertThat(entrance)
        .isInstanceOfSatisfying(
            Entrance.Limited.class,
            limited -> {
              assertThat(limited.limit()).isEqualTo(limit);
              assertThat(limited.reason()).isEqualTo(reason);
            });
  }

  private double connections(String label) {
    return meters.get("dunlin.tenants.connections").tag("tenant", label).gauge().value();
  }

  /** The records of tenants, as a copy of the range has them. */
  private Directory directory(AccessEntry.Tenant... tenants) {
    List<AccessPage.Change> changes = new ArrayList<>();
    for (AccessEntry.Tenant each : tenants) changes.add(new AccessPage.Change(each.key(), Optional.of(new AccessRow(versions.incrementAndGet(), 1, each))));
    AccessCopy copy = new AccessCopy(new SimpleMeterRegistry());
    copy.from(
        new AccessClient() {
          @Override
          public CompletableFuture<AccessResult> change(AccessChange change) {
            throw new UnsupportedOperationException();
          }

          @Override
          public CompletableFuture<AccessPage> changes(long base, long since) {
            return CompletableFuture.completedFuture(new AccessPage(base == 0, 1, versions.get(), true, new byte[0], base == 0 ? changes : List.of()));
          }
        });
    copy.refresh();
    assertThat(copy.isComplete()).isTrue();
    return copy.directory();
  }

  private static AccessEntry.Tenant row(String name, State state, String... limits) {
    return new AccessEntry.Tenant(name, state, List.of(limits));
  }

  // ------------------------------------------------------------------------------------------------------------------ limits of stores

  @Test
  void aLimitOfAStoreIsThatOfTheRecordThenOfTheSettings() {
    Tenants tenants = tenants(settings("retained=5", Map.of("own", parse("retained=7"), "lifted", parse("retained=none")), TenantSettings.Unknown.ALLOW));
    TenantQuota retained = tenants.quota(TenantLimit.RETAINED);
    assertThat(retained.max("any")).isEqualTo(5);
    assertThat(retained.max("own")).isEqualTo(7);
    assertThat(retained.max("lifted")).isEqualTo(TenantQuota.NONE);
    assertThat(tenants.quota(TenantLimit.ROUTES).max("own")).isEqualTo(TenantQuota.NONE);

    tenants.replace(directory(row("own", State.ACTIVE, "retained=9", "routes=1"), row("any", State.ACTIVE), row("lifted", State.ACTIVE, "retained=none")));
    assertThat(retained.max("own")).isEqualTo(9);
    assertThat(retained.max("any")).isEqualTo(5);
    assertThat(retained.max("lifted")).isEqualTo(TenantQuota.NONE);
    assertThat(tenants.quota(TenantLimit.ROUTES).max("own")).isEqualTo(1);
    assertThat(tenants.quota(TenantLimit.ROUTES).max("any")).isEqualTo(TenantQuota.NONE);
  }

  @Test
  void aTenantWithoutConnectionsThatReachesALimitIsRememberedForAMinute() {
    Tenants tenants = tenants("retained=5");
    TenantQuota retained = tenants.quota(TenantLimit.RETAINED);
    retained.reached("blue");
    retained.reached("blue");
    assertThat(meters.get("dunlin.tenants.limited").tags("limit", "retained", "tenant", "blue").counter().count()).isEqualTo(2);
    now.addAndGet(30 * SECOND);
    tenants.sweep();
    assertThat(tenants.hits("blue")).containsExactlyEntriesOf(Map.of(TenantLimit.RETAINED, 2L));
    now.addAndGet(31 * SECOND);
    tenants.sweep();
    assertThat(tenants.hits("blue")).isEmpty();
  }

  @Test
  void subscriptionsOfSessionsThatAreNotDurableAreCounted() {
    Tenants tenants = tenants("all-subscriptions=2");
    Tenant blue = entered(tenants.enter("blue"));
    assertThat(blue.subscribe()).isTrue();
    assertThat(blue.subscribe()).isTrue();
    assertThat(blue.subscribe()).isFalse();
    assertThat(entered(tenants.enter("green")).subscribe()).isTrue();
    blue.unsubscribe(1);
    assertThat(blue.subscribe()).isTrue();
    assertThat(blue.subscribe()).isFalse();
  }

  // ----------------------------------------------------------------------------------------------------------------------- connections

  @Test
  void aConnectionTooManyIsRefusedUntilAnotherHasEnded() {
    Tenants tenants = tenants("connections=2");
    Tenant blue = entered(tenants.enter("blue"));
    entered(tenants.enter("blue"));
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECTIONS, ReasonCode.QUOTA_EXCEEDED);
    entered(tenants.enter("green"));
    assertThat(connections("blue")).isEqualTo(2);
    assertThat(connections("other")).isEqualTo(1);

    tenants.leave(blue);
    assertThat(entered(tenants.enter("blue"))).isSameAs(blue);
    assertThat(blue.connections()).isEqualTo(2);
  }

  @Test
  void connectsAreCountedBySecond() {
    Tenants tenants = tenants("connect-rate=2");
    entered(tenants.enter("blue"));
    entered(tenants.enter("blue"));
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECT_RATE, ReasonCode.CONNECTION_RATE_EXCEEDED);
    entered(tenants.enter("green"));
    now.addAndGet(SECOND / 2);
    entered(tenants.enter("blue"));
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECT_RATE, ReasonCode.CONNECTION_RATE_EXCEEDED);
  }

  /** Otherwise a tenant could begin anew by ending all connections. */
  @Test
  void aTenantWithoutConnectionsIsForgottenWhenItsRatesAreAsInTheBeginning() {
    Tenants tenants = tenants("connect-rate=1");
    tenants.leave(entered(tenants.enter("blue")));
    tenants.sweep();
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECT_RATE, ReasonCode.CONNECTION_RATE_EXCEEDED);
    now.addAndGet(SECOND);
    tenants.sweep();
    assertThat(meters.get("dunlin.tenants.connected").gauge().value()).isZero();
    entered(tenants.enter("blue"));
    now.addAndGet(60 * SECOND);
    tenants.sweep();
    assertThat(tenants.connections("blue")).as("one with a connection stays").isEqualTo(1);
  }

  // ------------------------------------------------------------------------------------------------------------------------------ rates

  @Test
  void aSecondsWorthComesAtOnceAndThenEachWaitsForItsTurn() {
    Tenant blue = entered(tenants("messages-in=10").enter("blue"));
    for (int i = 0; i < 10; i++) assertThat(blue.take(TenantLimit.MESSAGES_IN, 1)).isZero();
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 1)).isEqualTo(SECOND / 10);
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 1)).isEqualTo(2 * SECOND / 10);
    now.addAndGet(SECOND / 10);
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 1)).isEqualTo(2 * SECOND / 10);
    now.addAndGet(60 * SECOND);
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 10)).as("no more than a second's worth is saved up").isZero();
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 1)).isPositive();
  }

  @Test
  void whatIsNotLimitedIsNotCounted() {
    Tenant blue = entered(tenants("messages-in=1").enter("blue"));
    for (int i = 0; i < 1_000; i++) assertThat(blue.take(TenantLimit.BYTES_IN, 1 << 20)).isZero();
    assertThat(blue.sentEnough()).isNull();
  }

  @Test
  void noMoreIsSentWhileARateIsExceeded() {
    Tenant blue = entered(tenants("messages-out=100,bytes-out=1KiB").enter("blue"));
    assertThat(blue.sentEnough()).isNull();
    var _ = blue.take(TenantLimit.BYTES_OUT, 2_048);
    assertThat(blue.sentEnough()).isEqualTo(TenantLimit.BYTES_OUT);
    now.addAndGet(SECOND);
    assertThat(blue.sentEnough()).isNull();
  }

  /** What was to be waited for by the former rate is not waited for. */
  @Test
  void anotherRateBeginsAnew() {
    Tenants tenants = tenants("");
    tenants.replace(directory(row("blue", State.ACTIVE, "messages-in=1")));
    Tenant blue = entered(tenants.enter("blue"));
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 1_000)).isEqualTo(999 * SECOND);
    int before = blue.version();
    tenants.replace(directory(row("blue", State.ACTIVE, "messages-in=1000")));
    assertThat(blue.version()).isNotEqualTo(before);
    assertThat(blue.take(TenantLimit.MESSAGES_IN, 1)).isZero();
  }

  // ---------------------------------------------------------------------------------------------------------------------- where from

  @Test
  void eachLimitComesFromTheRecordElseFromTheOwnSettingElseFromThatOfAll() {
    Tenants tenants = tenants(settings("connections=3,qos=1,packet=64KiB", Map.of("blue", parse("connections=2,qos=0")), TenantSettings.Unknown.ALLOW));
    tenants.replace(directory(row("blue", State.ACTIVE, "connections=1")));
    Tenant blue = entered(tenants.enter("blue"));
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECTIONS, ReasonCode.QUOTA_EXCEEDED);
    assertThat(blue.atMost(TenantLimit.QOS, 2)).isZero();
    assertThat(blue.atMost(TenantLimit.PACKET, 1 << 20)).isEqualTo(65_536);
    assertThat(blue.atMost(TenantLimit.SUBSCRIPTIONS, 5)).isEqualTo(5);
    assertThat(blue.denies(TenantLimit.WILDCARDS)).isFalse();

    tenants.replace(directory());
    entered(tenants.enter("blue"));
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECTIONS, ReasonCode.QUOTA_EXCEEDED);
    for (int i = 0; i < 3; i++) entered(tenants.enter("green"));
    assertLimited(tenants.enter("green"), TenantLimit.CONNECTIONS, ReasonCode.QUOTA_EXCEEDED);
  }

  /** A later version may know limits that this one does not. */
  @Test
  void aRecordThatCannotBeReadHasTheLimitsOfTheSettings() {
    Tenants tenants = tenants("connections=1");
    tenants.replace(directory(row("blue", State.ACTIVE, "satellites=7")));
    entered(tenants.enter("blue"));
    assertLimited(tenants.enter("blue"), TenantLimit.CONNECTIONS, ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void aSuspendedOrDeletedTenantIsRefusedAndItsClientsHaveToLeave() {
    Tenants tenants = tenants("");
    Tenant blue = entered(tenants.enter("blue"));
    assertThat(blue.away()).isEmpty();
    tenants.replace(directory(row("blue", State.SUSPENDED), row("red", State.DELETING)));
    assertThat(tenants.enter("blue")).isInstanceOfSatisfying(Entrance.Refused.class, refused -> assertThat(refused.reason()).isEqualTo(ReasonCode.BANNED));
    assertThat(tenants.enter("red")).isInstanceOfSatisfying(Entrance.Refused.class, refused -> assertThat(refused.reason()).isEqualTo(ReasonCode.NOT_AUTHORIZED));
    assertThat(blue.away()).hasValueSatisfying(away -> assertThat(away.connected()).isEqualTo(ReasonCode.ADMINISTRATIVE_ACTION));
    entered(tenants.enter("green"));

    tenants.replace(directory(row("blue", State.ACTIVE)));
    assertThat(blue.away()).isEmpty();
    entered(tenants.enter("blue"));
    entered(tenants.enter("red"));
  }

  @Test
  void unknownTenantsAreRefusedIfASettingSaysSo() {
    Tenants tenants = tenants(settings("", Map.of("blue", TenantLimits.none()), TenantSettings.Unknown.REFUSE));
    entered(tenants.enter("blue"));
    assertThat(tenants.enter("green")).isInstanceOfSatisfying(Entrance.Refused.class, refused -> assertThat(refused.reason()).isEqualTo(ReasonCode.NOT_AUTHORIZED));
    tenants.replace(directory(row("green", State.ACTIVE)));
    Tenant green = entered(tenants.enter("green"));
    tenants.replace(directory());
    assertThat(green.away()).isPresent();
  }

  @Test
  void aClientsTenantIsThatOfItsUserNameElseThatOfItsListener() {
    Tenants byName = tenants(new TenantSettings(TenantLimits.none(), Map.of(), TenantSettings.Unknown.ALLOW, true, Map.of("tls", "blue"), Map.of(), Set.of()));
    assertThat(byName.placeOf("alice@green", "tls", null, "default")).contains("green");
    assertThat(byName.placeOf("a@b@green", "tcp", null, "default")).contains("green");
    assertThat(byName.placeOf("alice", "tls", null, "default")).contains("blue");
    assertThat(byName.placeOf("", "tcp", null, "default")).contains("default");
    for (String wrong : List.of("alice@", "alice@a/b", "alice@\u0000", "@+", "a@" + "x".repeat(65)))
      assertThat(byName.placeOf(wrong, "tls", null, "default")).as(wrong).isEmpty();

    Tenants byListener = tenants(new TenantSettings(TenantLimits.none(), Map.of(), TenantSettings.Unknown.ALLOW, false, Map.of("tls", "blue"), Map.of(), Set.of()));
    assertThat(byListener.placeOf("alice@green", "tls", null, "default")).contains("blue");
    assertThat(byListener.placeOf("alice@green", "tcp", null, "default")).contains("default");
  }

  @Test
  void aServerNameComesBehindTheUserNameAndBeforeTheListener() {
    Map<String, ServerNames> names = Map.of("tls", ServerNames.parse(List.of("mqtt.red.example=red")));
    Tenants both = tenants(new TenantSettings(TenantLimits.none(), Map.of(), TenantSettings.Unknown.ALLOW, true, Map.of("tls", "blue"), names, Set.of()));
    assertThat(both.placeOf("alice@green", "tls", "mqtt.red.example", "default")).contains("green");
    assertThat(both.placeOf("alice@green", "tls", "mqtt.black.example", "default")).contains("green");
    assertThat(both.placeOf("alice", "tls", "mqtt.red.example", "default")).contains("red");
    assertThat(both.placeOf("alice", "tls", "mqtt.black.example", "default")).as("a name that is not known").isEmpty();
    assertThat(both.placeOf("alice", "tls", null, "default")).contains("blue");
    assertThat(both.placeOf("alice", "other", "mqtt.red.example", "default")).as("each listener has its own").contains("default");
  }

  @Test
  void hitsAreCountedByLimitAndOfNamedTenants() {
    Tenants tenants = tenants("connections=1");
    for (String name : new String[] {"blue", "green", "red"}) {
      Tenant tenant = entered(tenants.enter(name));
      tenant.hit(TenantLimit.CONNECTIONS);
      tenant.hit(TenantLimit.QOS);
      tenant.hit(TenantLimit.QOS);
    }
    assertThat(tenants.hits("blue")).isEqualTo(Map.of(TenantLimit.CONNECTIONS, 1L, TenantLimit.QOS, 2L));
    assertThat(tenants.hits("none")).isEmpty();
    assertThat(limited("blue", "qos")).isEqualTo(2);
    assertThat(limited("other", "qos")).isEqualTo(4);
    assertThat(limited("other", "connections")).isEqualTo(2);
  }

  private double limited(String label, String limit) {
    return meters.get("dunlin.tenants.limited").tag("tenant", label).tag("limit", limit).counter().count();
  }
}
