package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.ForeignExchanges;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Messages of QoS 2 exchanges for ranges that do not have the publisher's session, while what an earlier connection of it has sent may arrive at any later time.
 * The TLA+ model Exchanges says the same of the rules; here the ranges are real.
 */
final class LateExchangesTest {
  private static final int SEEDS = 200;
  private static final int MESSAGES = 5;
  private static final int CRASHES = 8;
  private static final int PACKET_ID = 1;
  private static final long BIRTH = 1L << 12;
  private static final String PUBLISHER = "publisher";
  private static final SessionKey SESSION = new SessionKey(RangeHarness.TENANT, PUBLISHER);

  /** Two ranges beside the one that has the publisher's session. */
  private static final List<ShardInterval> OTHERS = ShardInterval.divide(RangeHarness.SHARDS, 3).subList(1, 3);

  /** What the ranges look at. */
  private enum Rule {
    ALL,
    /** A late message is taken for one of the present connection. */
    MESSAGES_WITHOUT_EPOCH,
    /** A late release is taken for one of the present connection. */
    RELEASES_WITHOUT_EPOCH
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, SEEDS) : LongStream.of(seed);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void eachRangeStoresEachMessageOnceAndInOrder(long seed) {
    assertThat(new Run(seed, Rule.ALL).inboxes()).as("seed " + seed).allSatisfy(inbox -> assertThat(inbox).isEqualTo(expected()));
  }

  @Test
  void rangesThatTakeLateMessagesAreFound() {
    assertThat(LongStream.range(0, SEEDS).anyMatch(seed -> isWrong(seed, Rule.MESSAGES_WITHOUT_EPOCH))).isTrue();
  }

  @Test
  void rangesThatForgetByLateReleasesAreFound() {
    assertThat(LongStream.range(0, SEEDS).anyMatch(seed -> isWrong(seed, Rule.RELEASES_WITHOUT_EPOCH))).isTrue();
  }

  private static boolean isWrong(long seed, Rule rule) {
    return new Run(seed, rule).inboxes().stream().anyMatch(inbox -> !inbox.equals(expected()));
  }

  private static List<String> expected() {
    return IntStream.range(0, MESSAGES).mapToObj(i -> "m" + i).toList();
  }

  /** A subscriber in one of the other ranges. */
  private static final class Other {
    private final RangeHarness h;
    private final SessionRef subscriber;

    Other(ShardInterval interval) {
      h = new RangeHarness(interval);
      subscriber = h.connect(client(interval)).session();
      h.subscribe(subscriber, "a", QoS.EXACTLY_ONCE);
    }

    private static String client(ShardInterval interval) {
      for (int i = 0; ; i++) {
        String name = "c" + i;
        if (interval.contains(new SessionKey(RangeHarness.TENANT, name).shard(RangeHarness.SHARDS))) return name;
      }
    }

    Outcome append(long epoch, String payload) {
      var message = h.message(PUBLISHER, "a", QoS.EXACTLY_ONCE, payload);
      return h.apply(new SessionCommand.AppendOfExchange(BIRTH, epoch, PACKET_ID, new SessionCommand.Append(h.now, message, null, null, List.of(), false, 0)));
    }

    Outcome forget(long epoch) {
      return h.apply(new SessionCommand.ForgetExchange(RangeHarness.TENANT, PUBLISHER, BIRTH, epoch, PACKET_ID));
    }

    ForeignExchanges known() {
      return h.range.state().foreignExchanges;
    }

    List<String> inbox() {
      return h.inbox(subscriber);
    }
  }

  /** What was on its way to a range when the connection with this epoch ended. */
  private record Late(Other to, long epoch, boolean release, String payload) {}

  /** The publisher sends each message until it has PUBREC for it, and then releases it until it has PUBCOMP. All have the same packet identifier. */
  private static final class Run {
    private final Random random;
    private final Rule rule;
    private final List<Other> others = OTHERS.stream().map(Other::new).toList();
    private final List<Late> late = new ArrayList<>();
    private long epoch = BIRTH;
    private int crashes;
    private boolean recorded;
    private boolean received;

    Run(long seed, Rule rule) {
      random = new Random(seed);
      this.rule = rule;
      for (int i = 0; i < MESSAGES; i++) while (!exchange("m" + i)) connectAgain();
      while (!late.isEmpty()) arrive();
    }

    /** Answers false if the connection ends before PUBCOMP. */
    private boolean exchange(String payload) {
      if (!received) {
        if (!recorded && !append(payload)) return false;
        if (crashes()) return false;
        received = true;
      }
      if (!forget(payload)) return false;
      recorded = false;
      if (crashes()) return false;
      received = false;
      return true;
    }

    private boolean append(String payload) {
      for (Other each : shuffled()) {
        if (crashes()) return leave(payload, false);
        assertThat(each.append(epoch, payload)).isInstanceOf(Outcome.Done.class);
      }
      if (crashes()) return leave(payload, false);
      recorded = true;
      return true;
    }

    private boolean forget(String payload) {
      for (Other each : shuffled()) {
        if (crashes()) return leave(payload, true);
        assertThat(each.forget(epoch)).isInstanceOf(Outcome.Done.class);
      }
      return !crashes() || leave(payload, true);
    }

    /** Also what has arrived may arrive again, since it may have been sent twice. */
    private boolean leave(String payload, boolean release) {
      for (Other each : others) late.add(new Late(each, epoch, release, payload));
      return false;
    }

    private List<Other> shuffled() {
      var all = new ArrayList<>(others);
      Collections.shuffle(all, random);
      return all;
    }

    private void connectAgain() {
      epoch += BIRTH;
    }

    private boolean crashes() {
      if (random.nextInt(4) == 0) others.get(random.nextInt(others.size())).h.reopen();
      if (!late.isEmpty() && random.nextInt(3) == 0) arrive();
      if (crashes == CRASHES || random.nextInt(4) != 0) return false;
      crashes++;
      return true;
    }

    private void arrive() {
      var one = late.remove(random.nextInt(late.size()));
      boolean checked = rule == Rule.ALL || (rule == Rule.MESSAGES_WITHOUT_EPOCH) == one.release;
      long of = checked ? one.epoch : epoch;
      var _ = one.release ? one.to.forget(of) : one.to.append(of, one.payload);
    }

    List<List<String>> inboxes() {
      return others.stream().map(Other::inbox).toList();
    }
  }

  private final Other other = new Other(OTHERS.getFirst());

  private List<ForeignExchanges.Over> over(boolean lives, int looks) {
    return other.known().lookForOver((_, _) -> lives, looks, 10);
  }

  @Test
  void whatComesFromAnEarlierConnectionIsRefused() {
    other.append(BIRTH + 2, "m1");
    other.h.reopen();

    assertThat(other.append(BIRTH + 1, "m0")).isInstanceOf(Outcome.Stale.class);
    assertThat(other.forget(BIRTH + 1)).isInstanceOf(Outcome.Stale.class);

    assertThat(other.known().open()).isEqualTo(1);
    assertThat(other.append(BIRTH + 3, "m1")).as("it is known").isInstanceOf(Outcome.Done.class);
    assertThat(other.inbox()).containsExactly("m1");
  }

  @Test
  void aReleaseIsHeardOfAlsoWhereNothingIsStored() {
    assertThat(other.forget(BIRTH + 2)).isInstanceOf(Outcome.Done.class);
    other.h.reopen();

    assertThat(other.append(BIRTH + 1, "m0")).isInstanceOf(Outcome.Stale.class);
    assertThat(other.inbox()).isEmpty();
  }

  @Test
  void aPublisherWithoutAnOpenExchangeIsForgottenWhenNothingCanBeLate() {
    other.append(BIRTH, "m0");
    assertThat(over(true, 0)).as("an exchange is open").isEmpty();
    other.forget(BIRTH);
    assertThat(over(true, 2)).as("found twice").isEmpty();
    other.forget(BIRTH + 1);
    for (int i = 0; i < 2; i++) assertThat(over(true, 2)).as("the epoch has changed").isEmpty();

    var found = over(true, 2);
    other.h.apply(new SessionCommand.ForgetPublishers(found));

    assertThat(found).containsExactly(new ForeignExchanges.Over(SESSION, BIRTH, BIRTH + 1, false));
    assertThat(other.known().size()).isZero();
    assertThat(other.h.rowKeys()).noneMatch(key -> key.contains("<0>x" + PUBLISHER));
  }

  @Test
  void aPublisherOfWhichMoreHasComeSinceIsNotForgotten() {
    other.forget(BIRTH);
    var found = over(true, 0);
    other.append(BIRTH, "m0");
    other.h.apply(new SessionCommand.ForgetPublishers(found));
    assertThat(other.known().has(SESSION, BIRTH, PACKET_ID)).as("an exchange has begun").isTrue();

    found = over(false, 0);
    other.append(BIRTH + 1, "m0");
    other.h.apply(new SessionCommand.ForgetPublishers(found));
    assertThat(other.known().has(SESSION, BIRTH, PACKET_ID)).as("there is a later connection").isTrue();
  }

  @Test
  void anEndedPublisherIsForgottenWithItsExchanges() {
    other.append(BIRTH, "m0");
    assertThat(over(true, 1)).isEmpty();
    assertThat(over(false, 1)).as("it has only just ended").isEmpty();

    other.h.apply(new SessionCommand.ForgetPublishers(over(false, 1)));

    assertThat(other.known().open()).isZero();
    assertThat(other.h.rowKeys()).noneMatch(key -> key.contains("<0>x" + PUBLISHER));
  }

  @Test
  void aLaterSessionOfTheSameClientTakesThePlaceOfTheEarlierOne() {
    long later = BIRTH * 5;
    other.append(BIRTH, "m0");
    var message = other.h.message(PUBLISHER, "a", QoS.EXACTLY_ONCE, "m1");
    var append = new SessionCommand.Append(other.h.now, message, null, null, List.of(), false, 0);
    assertThat(other.h.apply(new SessionCommand.AppendOfExchange(later, later, PACKET_ID, append))).isInstanceOf(Outcome.Done.class);
    other.h.reopen();

    assertThat(other.append(BIRTH, "m2")).isInstanceOf(Outcome.Stale.class);
    assertThat(other.known().has(SESSION, later, PACKET_ID)).isTrue();
    assertThat(other.known().size()).isEqualTo(1);
    assertThat(other.inbox()).containsExactly("m0", "m1");
  }
}
