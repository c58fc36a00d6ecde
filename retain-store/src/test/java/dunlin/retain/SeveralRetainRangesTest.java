package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainedMessagesMXBean.RetainedRow;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Several ranges of retained messages behave like a single one and like a map of topics. */
class SeveralRetainRangesTest {
  private static final int ALL = 1 << 20;

  /** Ends a test whose cursors do not come to an end. */
  private static final int PAGES_MAX = 2_000;

  private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
  private long nowMillis = 1_000_000;

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.rangeClosed(1, 30) : LongStream.of(seed);
  }

  @AfterEach
  void close() {
    scheduler.shutdownNow();
  }

  /** A retain tier with its ranges. */
  private final class Tier {
    final List<FakeRange<RetainCommand, RetainResult>> ranges = new ArrayList<>();
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final List<byte[]> cuts;
    final RetainSettings settings;
    RetainServer server;

    Tier(List<byte[]> cuts, RetainBounds bounds) {
      this.cuts = cuts;
      this.settings = new RetainSettings(bounds, Duration.ofSeconds(1), 20);
      server = new RetainServer(FakeRange.openedInto(ranges), cuts, settings, meters, () -> Instant.ofEpochMilli(nowMillis), scheduler);
    }

    /** Opens all ranges again on the same rows. */
    void restart() {
      server.close();
      var before = List.copyOf(ranges);
      ranges.clear();
      RetainServer.RangeOpener opener =
          (_, codec, logic) -> {
            var range = new FakeRange<>(codec, logic, before.get(ranges.size()).rows());
            ranges.add(range);
            return range;
          };
      server = new RetainServer(opener, cuts, settings, meters, () -> Instant.ofEpochMilli(nowMillis), scheduler);
    }

    ReasonCode set(Publication message) {
      List<ReasonCode> answers = new ArrayList<>();
      server.set(message, answers::add);
      assertThat(answers).as("answers to %s", message).hasSize(1);
      return answers.getFirst();
    }

    /** The messages that a filter finds, in order, by pages of random sizes. */
    List<String> find(String filter, Random random) {
      List<String> found = new ArrayList<>();
      Cursor cursor = null;
      int pages = 0;
      do {
        assertThat(pages++).as("pages of %s", filter).isLessThan(PAGES_MAX);
        int messagesMax = 1 + random.nextInt(40);
        int bytesMax = random.nextInt(2000);
        Page page = server.find(Messages.TENANT, filter, cursor, messagesMax, bytesMax).join();
        assertThat(page.messages()).hasSizeLessThanOrEqualTo(messagesMax);
        assertThat(page.messages().stream().limit(Math.max(0, page.messages().size() - 1)).mapToInt(message -> message.body().length).sum())
            .as("bytes but for the last message")
            .isLessThanOrEqualTo(bytesMax);
        page.messages().forEach(message -> found.add(message.topic() + " " + Messages.payload(message)));
        cursor = page.next();
      } while (cursor != null);
      return found;
    }

    /** Sweeps all expired messages, wherever the sweep is. */
    void sweepAll() {
      for (int i = 0; i < 30 * ranges.size(); i++) server.tick();
    }

    double meter(String name) {
      return meters.get(name).gauge().value();
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void severalRangesBehaveLikeOne(long seed) {
    var topics = new Topics(seed);
    var random = topics.random();
    // In some runs the limits are never reached, in the others again and again.
    var bounds = seed % 2 == 0 ? RetainBounds.NONE : new RetainBounds(60 + random.nextInt(60), 2_500, 6_000);
    var one = new Tier(List.of(), bounds);
    var several = new Tier(topics.cuts(Messages.TENANT, 2 + random.nextInt(9)), bounds);
    var both = List.of(one, several);
    var model = new TreeMap<String, Publication>();

    for (int step = 0; step < 1_200; step++) {
      String at = "seed %d, step %d".formatted(seed, step);
      int dice = random.nextInt(100);
      if (dice < 50) {
        String topic = topics.topic();
        String payload = "payload " + step + "x".repeat(random.nextInt(60));
        var message =
            random.nextInt(3) == 0 ? Messages.expiring(topic, payload, nowMillis, 1 + random.nextInt(8)) : Messages.message(topic, payload);
        var answer = one.set(message);
        assertThat(several.set(message)).as(at).isEqualTo(answer);
        assertThat(answer).as(at).isIn(ReasonCode.SUCCESS, ReasonCode.QUOTA_EXCEEDED);
        if (answer == ReasonCode.SUCCESS) model.put(topic, message);
      } else if (dice < 65) {
        String topic = topics.topic();
        for (Tier each : both) assertThat(each.set(Messages.message(topic, ""))).as(at).isEqualTo(ReasonCode.SUCCESS);
        model.remove(topic);
      } else if (dice < 90) {
        find(topics.filter(), model, one, several, random, at);
      } else if (dice < 95) {
        list(topics.topic(), random, model, one, several, at);
      } else if (dice < 97) {
        String prefix = topics.topic();
        int max = 1 + random.nextInt(5);
        int deleted = one.server.operations().delete(Messages.TENANT, prefix, max);
        assertThat(several.server.operations().delete(Messages.TENANT, prefix, max)).as(at).isEqualTo(deleted);
        for (var row : listedOf(model, prefix).subList(0, deleted)) model.remove(row.topic());
      } else if (dice < 99) {
        nowMillis += random.nextInt(5_000);
        // Expired messages are not found even before they are removed.
        find("#", unexpired(model), one, several, random, at);
        both.forEach(Tier::sweepAll);
        model.values().removeIf(message -> message.expired(nowMillis));
      } else {
        several.restart();
      }
      for (Tier each : both) assertThat(each.server.count().join()).as(at).isEqualTo(model.size());
    }

    for (String filter : List.of("#", "+/#", "$/#", "$SYS/#", "+", "/#", "/+", "a/#", "+/+/a"))
      find(filter, model, one, several, random, "seed " + seed);
    for (String sum : List.of("messages", "topics.size", "size"))
      assertThat(several.meter("dunlin.retain." + sum)).as("seed %d: %s", seed, sum).isEqualTo(one.meter("dunlin.retain." + sum)).isPositive();
    if (seed % 2 != 0) {
      assertThat(several.meters.get("dunlin.retain.refused").tag("reason", "messages").counter().count())
          .as("seed %d", seed)
          .isEqualTo(one.meters.get("dunlin.retain.refused").tag("reason", "messages").counter().count());
    }
  }

  private Map<String, Publication> unexpired(Map<String, Publication> model) {
    var left = new TreeMap<>(model);
    left.values().removeIf(message -> message.expired(nowMillis));
    return left;
  }

  private static void find(String filter, Map<String, Publication> model, Tier one, Tier several, Random random, String at) {
    var wanted = new ArrayList<String>();
    model.forEach(
        (topic, message) -> {
          if (TopicFilter.plain(filter).matches(topic)) wanted.add(topic + " " + Messages.payload(message));
        });
    List<String> found = several.find(filter, random);
    assertThat(found).as("%s, filter %s", at, filter).isEqualTo(one.find(filter, random));
    assertThat(found).as("%s, filter %s", at, filter).containsExactlyInAnyOrderElementsOf(wanted);
  }

  private static void list(String prefix, Random random, Map<String, Publication> model, Tier one, Tier several, String at) {
    String after = random.nextBoolean() ? "" : prefix + "/a";
    int max = 1 + random.nextInt(20);
    var rows = several.server.operations().list(Messages.TENANT, prefix, after, max);
    assertThat(rows).as("%s, prefix %s after %s", at, prefix, after).isEqualTo(one.server.operations().list(Messages.TENANT, prefix, after, max));
    if (after.isEmpty()) assertThat(rows).as("%s, prefix %s", at, prefix).isEqualTo(listedOf(model, prefix).stream().limit(max).toList());
  }

  /** The expected listing, in the order of the store, in which the end of a level sorts first. */
  private static List<RetainedRow> listedOf(Map<String, Publication> model, String prefix) {
    var rows = new TreeMap<byte[], RetainedRow>(Arrays::compareUnsigned);
    model.forEach(
        (topic, message) -> {
          byte[] order = topic.replace('/', '\0').getBytes(StandardCharsets.UTF_8);
          if (topic.startsWith(prefix)) rows.put(order, new RetainedRow(topic, message.encodedLength()));
        });
    return List.copyOf(rows.values());
  }

  private static byte[] cut(String topic) {
    return TopicKeys.of(Messages.TENANT, topic);
  }

  /** A tier with the first range up to b, the second to c, and so on. */
  private Tier cutAt(String... topics) {
    var cuts = new ArrayList<byte[]>();
    for (String topic : topics) cuts.add(cut(topic));
    return new Tier(cuts, Messages.atMost(1_000));
  }

  private static List<String> topics(Tier tier, String filter) {
    return tier.find(filter, new Random(1)).stream().map(found -> found.substring(0, found.lastIndexOf(' '))).toList();
  }

  @Test
  void aBranchIsFoundOnBothSidesOfACut() {
    var tier = cutAt("a/m", "a/m/x");
    for (String topic : List.of("a", "a/", "a/b", "a/m", "a/m/a", "a/m/x", "a/z", "ab", "b")) tier.set(Messages.message(topic, "1"));

    assertThat(topics(tier, "a/#")).containsExactly("a", "a/", "a/b", "a/m", "a/m/a", "a/m/x", "a/z");
    assertThat(topics(tier, "a/+")).containsExactly("a/", "a/b", "a/m", "a/z");
    assertThat(topics(tier, "a/m/#")).containsExactly("a/m", "a/m/a", "a/m/x");
    assertThat(topics(tier, "+/m/x")).containsExactly("a/m/x");
    assertThat(topics(tier, "a/m")).containsExactly("a/m");
    assertThat(tier.ranges).extracting(range -> range.rows().size()).containsExactly(3, 2, 4);
  }

  @Test
  void aPageIsReadOnlyInRangesThatMayHaveAMatch() {
    var tier = cutAt("$", "%", "b", "b/c", "b/x", "c");
    var pages = tier.meters.get("dunlin.retain.pages").counter();
    record Filter(String filter, int ranges) {}
    for (var each :
        List.of(
            new Filter("b/d/e", 1), new Filter("a/#", 1), new Filter("b", 1), new Filter("b/#", 3), new Filter("b/c/+", 1), new Filter("b/+/e", 3),
            new Filter("$SYS/#", 1), new Filter("#", 6), new Filter("+/y", 4), new Filter("z/#", 1))) {
      double before = pages.count();
      assertThat(tier.find(each.filter(), new Random(1))).isEmpty();
      assertThat(pages.count() - before).as(each.filter()).isEqualTo(each.ranges());
    }
  }

  @Test
  void aPageWaitsForPendingMessagesOfItsRangeOnly() {
    var tier = cutAt("b");
    tier.set(Messages.message("a", "1"));
    tier.set(Messages.message("b", "1"));
    tier.ranges.get(1).log = FakeRange.Log.HOLDS;
    tier.server.set(Messages.message("b", "2"), _ -> {});

    Page first = tier.server.find(Messages.TENANT, "#", null, ALL, ALL).join();
    assertThat(first.messages()).extracting(Publication::topic).containsExactly("a");
    var second = tier.server.find(Messages.TENANT, "#", first.next(), ALL, ALL);
    assertThat(second).isNotDone();

    tier.ranges.get(1).applyHeld();
    assertThat(second.join().messages()).extracting(Messages::payload).containsExactly("2");
    assertThat(second.join().next()).isNull();
  }

  @Test
  void aFullOrFailedRangeAffectsOnlyItsTopics() {
    var tier = cutAt("b", "c");
    tier.ranges.get(0).log = FakeRange.Log.FAILS;
    tier.ranges.get(1).log = FakeRange.Log.FULL;
    List<ReasonCode> waiting = new ArrayList<>();

    assertThat(tier.set(Messages.message("a", "1"))).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    tier.server.set(Messages.message("b", "1"), waiting::add);
    assertThat(tier.set(Messages.message("c", "1"))).isEqualTo(ReasonCode.SUCCESS);

    assertThat(waiting).isEmpty();
    assertThat(tier.meter("dunlin.retain.waiting")).isEqualTo(1);
    assertThat(tier.meter("dunlin.retain.waiting.oldest")).isPositive();
    tier.ranges.get(1).hasRoom();
    assertThat(waiting).containsExactly(ReasonCode.SUCCESS);
    assertThat(topics(tier, "#")).containsExactly("b", "c");
  }

  /** Otherwise removed messages would count against the limit for ever. */
  @Test
  void everyEndOfAMessageReleasesItsClaim() {
    var tier = new Tier(List.of(cut("b")), Messages.atMost(2));
    tier.ranges.get(0).log = FakeRange.Log.FAILS;
    for (int i = 0; i < 5; i++) tier.set(Messages.message("a" + i, "1"));
    tier.ranges.get(0).log = FakeRange.Log.APPLIES;
    for (int i = 0; i < 5; i++) {
      tier.set(Messages.message("a", "1"));
      tier.set(Messages.message("a", ""));
    }

    assertThat(tier.set(Messages.message("b", "1"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(tier.set(Messages.message("a", "1"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(tier.set(Messages.message("c", "1"))).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void theSweepContinuesInOtherRangesWhenTheReadersOfOneAreBusy() {
    var tier = cutAt("b", "c");
    for (String topic : List.of("a", "b", "c")) tier.set(Messages.expiring(topic, "1", nowMillis, 1));
    nowMillis += 2_000;
    tier.ranges.get(0).readers = _ -> {
      throw new RejectedExecutionException("the test wants it to be full");
    };

    tier.sweepAll();
    assertThat(tier.ranges).extracting(range -> range.rows().size()).containsExactly(1, 0, 0);
    tier.ranges.get(0).readers = Runnable::run;
    tier.sweepAll();
    assertThat(tier.ranges).extracting(range -> range.rows().size()).containsExactly(0, 0, 0);
  }

  /** The rate of the sweep is for the node: a tick sweeps one range, with the same number of messages as for a single range. */
  @Test
  void aTickSweepsOneRange() {
    var tier = cutAt("b", "c");
    for (String topic : List.of("a", "b", "c")) tier.set(Messages.expiring(topic, "1", nowMillis, 1));
    nowMillis += 2_000;

    for (int left = 2; left >= 0; left--) {
      tier.server.tick();
      assertThat(tier.ranges.stream().mapToInt(range -> range.rows().size()).sum()).isEqualTo(left);
    }
  }

  @Test
  void aClosedTierStopsSweepingAndLeavesNoGauges() {
    var tier = cutAt("b");
    tier.set(Messages.expiring("a", "1", nowMillis, 1));
    nowMillis += 2_000;

    tier.server.close();

    tier.sweepAll();
    assertThat(tier.ranges.getFirst().rows().size()).isEqualTo(1);
    assertThat(tier.meters.find("dunlin.retain.messages").gauge()).isNull();
  }

  @Test
  void eachRangeHasANameAndTheFirstHasThatOfASingleRange() {
    var names = new ArrayList<String>();
    RetainServer.RangeOpener opener =
        (name, codec, logic) -> {
          names.add(name);
          return new FakeRange<>(codec, logic);
        };
    var settings = new RetainSettings(RetainBounds.NONE, Duration.ofSeconds(1), 1);
    for (List<byte[]> cuts : List.of(List.<byte[]>of(), List.of(cut("b"), cut("c"))))
      new RetainServer(opener, cuts, settings, new SimpleMeterRegistry(), () -> Instant.ofEpochMilli(nowMillis), scheduler).close();

    assertThat(names).containsExactly("retain", "retain", "retain-1", "retain-2");
  }

  @Test
  void tenantsStaySeparateWhereverACutIs() {
    var tier = new Tier(List.of(TopicKeys.of("zzz", "m"), TopicKeys.of("other", ""), TopicKeys.of("other", "m")), Messages.atMost(100));
    for (String tenant : List.of("other", "zzz")) for (String topic : List.of("a", "x")) tier.set(Messages.message(tenant, topic, tenant));
    tier.set(Messages.message("q", "1"));

    for (String tenant : List.of("other", "zzz", Messages.TENANT)) {
      var payloads = new ArrayList<String>();
      Cursor cursor = null;
      int pages = 0;
      do {
        assertThat(pages++).isLessThan(PAGES_MAX);
        Page page = tier.server.find(tenant, "#", cursor, ALL, ALL).join();
        page.messages().forEach(message -> payloads.add(Messages.payload(message)));
        cursor = page.next();
      } while (cursor != null);
      assertThat(payloads).isEqualTo(tenant.equals(Messages.TENANT) ? List.of("1") : List.of(tenant, tenant));
    }
  }
}
