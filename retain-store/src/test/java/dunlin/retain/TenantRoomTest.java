package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.FakeRange.Log;
import dunlin.retain.RetainRangeClient.Held;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Limits of tenants on retained messages. */
class TenantRoomTest {
  private static final String BLUE = "blue";
  private static final String GREEN = "green";

  private final AtomicLong nowMillis = new AtomicLong(1_000);
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
  private final List<FakeRange<RetainCommand, RetainResult>> ranges = new ArrayList<>();
  private final SetQuota messages = new SetQuota();
  private final SetQuota bytes = new SetQuota();
  private final RetainServer server = server(List.of());
  private final FakeRange<RetainCommand, RetainResult> range = ranges.getFirst();

  private RetainServer server(List<byte[]> cuts) {
    var settings = new RetainSettings(Messages.atMost(200_000), Duration.ofMillis(1), 100);
    var made = new RetainServer(FakeRange.openedInto(ranges), cuts, settings, meters, () -> Instant.ofEpochMilli(nowMillis.get()), scheduler);
    made.limitTenants(messages, bytes);
    return made;
  }

  @AfterEach
  void close() {
    server.close();
    scheduler.shutdownNow();
  }

  private ReasonCode set(String tenant, String topic, String payload) {
    return set(server, tenant, topic, payload);
  }

  private static ReasonCode set(RetainServer to, String tenant, String topic, String payload) {
    var answers = new ArrayList<ReasonCode>();
    to.set(Messages.message(tenant, topic, payload), answers::add);
    assertThat(answers).hasSize(1);
    return answers.getFirst();
  }

  private double refused() {
    return meters.get("dunlin.retain.refused").tag("reason", "tenant").counter().count();
  }

  @Test
  void aTopicTooManyIsRefusedUntilAnotherIsCleared() {
    messages.of(BLUE, 2);
    assertThat(set(BLUE, "a", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(BLUE, "b", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(BLUE, "c", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(BLUE, "b", "a longer one")).as("a topic that has one").isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(GREEN, "c", "1")).as("another tenant").isEqualTo(ReasonCode.SUCCESS);
    assertThat(refused()).isEqualTo(1);
    assertThat(messages.reached()).isEqualTo(1);
    assertThat(bytes.reached()).isZero();

    set(BLUE, "a", "");
    assertThat(set(BLUE, "c", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(BLUE, "a", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void bytesTooManyAreRefusedAndFewerThanBeforeAreNot() {
    bytes.of(BLUE, 1_000);
    assertThat(set(BLUE, "a", "x".repeat(700))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(BLUE, "b", "x".repeat(700))).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(BLUE, "a", "x".repeat(1_100))).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(BLUE, "a", "x".repeat(600))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(GREEN, "b", "x".repeat(1_100))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(bytes.reached()).isEqualTo(2);
    assertThat(messages.reached()).isZero();
  }

  @Test
  void aLimitThatIsRaisedOrLiftedCountsAtOnceAndOneThatIsLoweredRemovesNothing() {
    for (String topic : List.of("a", "b", "c")) assertThat(set(BLUE, topic, "1")).isEqualTo(ReasonCode.SUCCESS);
    messages.of(BLUE, 1);
    assertThat(set(BLUE, "d", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(BLUE, "a", "2")).isEqualTo(ReasonCode.SUCCESS);
    set(BLUE, "b", "");
    assertThat(set(BLUE, "b", "1")).as("still more than it may have").isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    messages.of(BLUE, 3);
    assertThat(set(BLUE, "b", "1")).isEqualTo(ReasonCode.SUCCESS);
    messages.of(BLUE, SetQuota.NONE);
    assertThat(set(BLUE, "d", "1")).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void nothingMayBeRetainedWithALimitOfZero() {
    messages.of(BLUE, 0);
    assertThat(set(BLUE, "a", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(BLUE, "a", "")).isEqualTo(ReasonCode.SUCCESS);
  }

  /** Without claims, all of them would fit: nothing has been applied yet. */
  @Test
  void messagesOnTheirWayCountAndThoseOfOneTopicCountOnce() {
    messages.of(BLUE, 2);
    range.log = Log.HOLDS;
    var answers = new ArrayList<ReasonCode>();
    for (String topic : List.of("a", "a", "b", "a", "c", "b", "d")) server.set(Messages.message(BLUE, topic, topic), answers::add);
    assertThat(answers).as("c and d are refused at once").containsExactly(ReasonCode.QUOTA_EXCEEDED, ReasonCode.QUOTA_EXCEEDED);

    range.applyHeld();
    range.log = Log.APPLIES;
    assertThat(answers).hasSize(7);
    assertThat(set(BLUE, "a", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(BLUE, "c", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void aMessageThatFailsOrIsNotAcceptedClaimsNothingAnyMore() {
    messages.of(BLUE, 1);
    range.log = Log.FAILS;
    assertThat(set(BLUE, "a", "1")).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    range.log = Log.APPLIES;
    assertThat(set(BLUE, "b", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(BLUE, "a", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void oneThatIsOnlyAddedWhereThereIsNoneNeedsNoRoomWhereThereIsOne() {
    messages.of(BLUE, 1);
    bytes.of(BLUE, 200);
    set(BLUE, "a", "1");
    var answers = new ArrayList<Optional<ReasonCode>>();
    server.add(Messages.message(BLUE, "a", "x".repeat(1_000)), answers::add);
    server.add(Messages.message(BLUE, "b", "1"), answers::add);
    assertThat(answers).containsExactly(Optional.empty(), Optional.of(ReasonCode.QUOTA_EXCEEDED));
  }

  @Test
  void severalRangesAreCountedTogether() {
    var several = server(List.of(TopicKeys.of(BLUE, "m")));
    messages.of(BLUE, 2);
    assertThat(set(several, BLUE, "a", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(several, BLUE, "z", "1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(several, BLUE, "b", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(set(several, BLUE, "y", "1")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    several.close();
  }

  static LongStream seeds() {
    return LongStream.generate(ThreadLocalRandom.current()::nextLong).limit(5);
  }

  /** Sums follow from the rows, also after a start with them. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatTenantsHaveFollowsFromTheRows(long seed) {
    var random = new Random(seed);
    var rows = new FakeRange.Rows();
    var logic = new RetainRange();
    var tenants = List.of("a", "aa", "b", "");
    for (int i = 0; i < 2_000; i++) {
      String tenant = tenants.get(random.nextInt(tenants.size()));
      Publication message = Messages.message(tenant, "t/" + random.nextInt(30), "x".repeat(random.nextInt(40)));
      var command = message.payloadLength() == 0 ? new RetainCommand.Clear(TopicKeys.of(message)) : new RetainCommand.Set(RetainBounds.NONE, message);
      var _ = logic.apply(List.of(command), rows);
      if (random.nextInt(100) > 0) continue;
      if (random.nextBoolean()) logic.open(rows);
      else if (random.nextBoolean()) logic = opened(rows);
      for (String each : tenants) assertThat(logic.tenants().of(each)).as("of '%s' after %d", each, i).isEqualTo(counted(logic, rows, each));
    }
  }

  private static RetainRange opened(FakeRange.Rows rows) {
    var logic = new RetainRange();
    logic.open(rows);
    return logic;
  }

  private static Held counted(RetainRange logic, FakeRange.Rows rows, String tenant) {
    var held = new Held[] {Held.NONE};
    rows.scan(
        new byte[0],
        null,
        (key, _) -> {
          if (TopicKeys.tenant(key).equals(tenant)) held[0] = held[0].plus(new Held(1, logic.sizeOf(key)));
          return true;
        });
    return held[0];
  }

  /** What was on its way when the range is opened again is still claimed. */
  @Test
  void claimsOutliveAnOpening() {
    var rows = new FakeRange.Rows();
    var logic = new RetainRange();
    byte[] key = TopicKeys.of(BLUE, "a");
    assertThat(logic.tenants().claim(BLUE, key, 50, true, logic::sizeOf, new Held(1, 100))).isNull();
    logic.open(rows);
    assertThat(logic.tenants().of(BLUE)).isEqualTo(new Held(1, 50));
    byte[] other = TopicKeys.of(BLUE, "b");
    assertThat(logic.tenants().claim(BLUE, other, 50, true, logic::sizeOf, new Held(1, 100))).isEqualTo(TenantMessages.Full.MESSAGES);
    assertThat(logic.tenants().claim(BLUE, other, 60, true, logic::sizeOf, new Held(2, 100))).isEqualTo(TenantMessages.Full.BYTES);
    logic.tenants().release(BLUE, key);
    assertThat(logic.tenants().of(BLUE)).isEqualTo(Held.NONE);
  }
}
