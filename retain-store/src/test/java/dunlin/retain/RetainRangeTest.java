package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.retain.RetainCommand.Add;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainCommand.Set;
import dunlin.retain.RetainResult.Limit;
import dunlin.retain.RetainResult.Removed;
import dunlin.retain.index.SizeClass;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RetainRangeTest {
  private final FakeRange.Rows rows = new FakeRange.Rows();
  private final RetainRange range = new RetainRange();

  private List<RetainResult> apply(RetainCommand... commands) {
    return range.apply(List.of(commands), rows);
  }

  private static Set set(String topic, String payload) {
    return new Set(RetainBounds.NONE, Messages.message(topic, payload));
  }

  private static Add add(long nowMillis, String topic, String payload) {
    return new Add(nowMillis, RetainBounds.NONE, Messages.message(topic, payload));
  }

  private static Clear clear(String topic) {
    return new Clear(key(topic));
  }

  private static byte[] key(String topic) {
    return TopicKeys.of(Messages.message(topic, ""));
  }

  private @Nullable String payloadOf(String topic) {
    byte[] row = rows.get(key(topic));
    return row == null ? null : Messages.payload(RetainCodec.message(row));
  }

  @Test
  @Tag("MQTT-3.3.1-5")
  void theLastOneInTheLogWins() {
    List<RetainResult> results = apply(set("a", "1"), set("b", "2"), set("a", "3"));

    assertThat(results).containsOnly(RetainResult.STORED).hasSize(3);
    assertThat(payloadOf("a")).isEqualTo("3");
    assertThat(payloadOf("b")).isEqualTo("2");
    assertThat(range.index().size()).isEqualTo(2);
  }

  @Test
  @Tag("MQTT-3.3.1-6")
  void clearingRemovesTheRowAndReportsWhetherThereWasOne() {
    List<RetainResult> results = apply(set("a", "1"), set("a/b", "2"), clear("a"), clear("a"), set("a", "3"), clear("a"));

    assertThat(results.get(2)).isEqualTo(new Removed(1));
    assertThat(results.get(3)).isEqualTo(new Removed(0));
    assertThat(results.get(5)).isEqualTo(new Removed(1));
    assertThat(payloadOf("a")).isNull();
    assertThat(payloadOf("a/b")).isEqualTo("2");
    assertThat(range.index().size()).isEqualTo(1);
  }

  @Test
  void aTopicThatHasAMessageKeepsItWhenOneIsAdded() {
    List<RetainResult> results = apply(set("a", "1"), add(0, "a", "2"), add(0, "b", "3"), add(0, "b", "4"), clear("b"), add(0, "b", "5"));

    assertThat(results)
        .containsExactly(
            RetainResult.STORED, RetainResult.PRESENT, RetainResult.STORED, RetainResult.PRESENT, new Removed(1), RetainResult.STORED);
    assertThat(payloadOf("a")).isEqualTo("1");
    assertThat(payloadOf("b")).isEqualTo("5");
    assertThat(range.index().size()).isEqualTo(2);
  }

  @Test
  void aMessageThatHasExpiredGivesWayToOneThatIsAdded() {
    apply(new Set(RetainBounds.NONE, Messages.expiring("a", "old", 1_000, 10)));

    assertThat(apply(add(10_999, "a", "new"))).containsExactly(RetainResult.PRESENT);
    assertThat(payloadOf("a")).isEqualTo("old");
    assertThat(apply(add(11_000, "a", "new"))).containsExactly(RetainResult.STORED);
    assertThat(payloadOf("a")).isEqualTo("new");
    assertThat(range.index().size()).isEqualTo(1);
  }

  @Test
  void theLimitsHoldForWhatIsAdded() {
    apply(set("a", "1"));

    assertThat(apply(new Add(0, Messages.atMost(1), Messages.message("b", "1")), new Add(0, Messages.atMost(1), Messages.message("a", "2"))))
        .containsExactly(Limit.MESSAGES.refused(), RetainResult.PRESENT);
    assertThat(apply(decoded(add(0, "c", "")), decoded(add(0, "c\u0000d", "1")))).containsExactly(Limit.INVALID.refused(), Limit.INVALID.refused());
  }

  /** A log of another version may have such a command: it must not stop the replica at each start. */
  @Test
  void anInvalidCommandIsRefusedEachTimeItIsReplayed() {
    RetainCommand empty = decoded(set("a", ""));
    RetainCommand unkeyed = decoded(set("a\u0000b", "1"));

    for (int replay = 0; replay < 2; replay++) {
      assertThat(apply(empty, unkeyed, set("c", "1"))).containsExactly(Limit.INVALID.refused(), Limit.INVALID.refused(), RetainResult.STORED);
    }

    assertThat(rows.get(key("a"))).isNull();
    assertThat(range.index().size()).isEqualTo(1);
  }

  @Test
  void expiredKeysBeyondTheLimitAreIgnored() {
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i <= RemoveExpired.KEYS_MAX; i++) {
      apply(new Set(RetainBounds.NONE, Messages.expiring("t" + i, "x", 0, 1)));
      keys.add(key("t" + i));
    }

    assertThat(apply(decoded(new RemoveExpired(5_000, keys)))).containsExactly(new Removed(RemoveExpired.KEYS_MAX));
    assertThat(range.index().size()).isEqualTo(1);
  }

  private static RetainCommand decoded(RetainCommand command) {
    var codec = new RetainCodec();
    var bytes = ByteBuffer.allocate(codec.encodedLength(command));
    codec.encode(command, bytes);
    return codec.decode(bytes.flip());
  }

  @Test
  void tenantsDoNotShareTopics() {
    apply(
        new Set(Messages.atMost(9), Messages.message("one", "a", "1")),
        new Set(Messages.atMost(9), Messages.message("two", "a", "2")),
        new Clear(TopicKeys.of(Messages.message("one", "a", ""))));

    assertThat(rows.get(TopicKeys.of(Messages.message("one", "a", "")))).isNull();
    assertThat(rows.get(TopicKeys.of(Messages.message("two", "a", "")))).isNotNull();
  }

  @Test
  void whenFullOnlyANewTopicIsRefused() {
    apply(new Set(Messages.atMost(2), Messages.message("a", "1")), new Set(Messages.atMost(2), Messages.message("b", "1")));

    List<RetainResult> full = apply(new Set(Messages.atMost(2), Messages.message("c", "1")), new Set(Messages.atMost(2), Messages.message("a", "2")));
    List<RetainResult> after = apply(clear("b"), new Set(Messages.atMost(2), Messages.message("c", "1")));

    assertThat(full).containsExactly(Limit.MESSAGES.refused(), RetainResult.STORED);
    assertThat(payloadOf("a")).isEqualTo("2");
    assertThat(after).containsExactly(new Removed(1), RetainResult.STORED);
    assertThat(payloadOf("c")).isEqualTo("1");
  }

  @Test
  void newTopicsAreRefusedWhenTheirNamesReachTheLimit() {
    long most = 3L * key("t".repeat(1000)).length;
    var bounds = new RetainBounds(Long.MAX_VALUE, most, Long.MAX_VALUE);
    for (int i = 0; i < 3; i++) assertThat(apply(new Set(bounds, Messages.message(i + "t".repeat(999), "1")))).containsExactly(RetainResult.STORED);

    List<RetainResult> full = apply(new Set(bounds, Messages.message("a", "1")), new Set(bounds, Messages.message("0" + "t".repeat(999), "2")));

    assertThat(full).containsExactly(Limit.TOPIC_BYTES.refused(), RetainResult.STORED);
    assertThat(apply(clear("1" + "t".repeat(999)), new Set(bounds, Messages.message("a", "1")))).containsExactly(new Removed(1), RetainResult.STORED);
  }

  @Test
  void whenTheBytesReachTheLimitOnlySmallerMessagesAreAccepted() {
    var bounds = new RetainBounds(Long.MAX_VALUE, Long.MAX_VALUE, 10_000);
    assertThat(apply(new Set(bounds, Messages.message("a", "x".repeat(8000))))).containsExactly(RetainResult.STORED);

    assertThat(apply(new Set(bounds, Messages.message("b", "x".repeat(2000))))).containsExactly(Limit.BYTES.refused());
    assertThat(apply(new Set(bounds, Messages.message("a", "x".repeat(10_000))))).containsExactly(Limit.BYTES.refused());
    assertThat(payloadOf("a")).hasSize(8000);
    assertThat(apply(new Set(bounds, Messages.message("a", "x".repeat(1000))))).containsExactly(RetainResult.STORED);
    assertThat(apply(new Set(bounds, Messages.message("b", "x".repeat(2000))))).containsExactly(RetainResult.STORED);
  }

  @Test
  void aLoweredLimitOnlyAcceptsSmallerMessages() {
    apply(set("a", "x".repeat(8000)));
    var bounds = new RetainBounds(1, 1, 1000);

    assertThat(apply(new Set(bounds, Messages.message("a", "x".repeat(4000))), new Set(bounds, Messages.message("a", "x".repeat(9000)))))
        .containsExactly(RetainResult.STORED, Limit.BYTES.refused());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void theSumsAlwaysMatchTheRows(long seed) {
    var random = new Random(seed);
    for (int step = 0; step < 3000; step++) {
      String topic = "t/" + "x".repeat(random.nextInt(40));
      switch (random.nextInt(4)) {
        case 0 -> apply(clear(topic));
        case 1 -> apply(new RemoveExpired(2000, List.of(key(topic))));
        case 2 -> apply(new Set(RetainBounds.NONE, Messages.expiring(topic, "y".repeat(1 + random.nextInt(300)), 1000, random.nextInt(3))));
        default -> apply(new Set(new RetainBounds(30, 1000, 5000), Messages.message(topic, "y".repeat(1 + random.nextInt(300)))));
      }
      if (step % 100 == 0) {
        var opened = new RetainRange();
        opened.open(rows);
        assertThat(range.bytes()).as("seed %d, step %d", seed, step).isEqualTo(opened.bytes());
        assertThat(range.topicBytes()).as("seed %d, step %d", seed, step).isEqualTo(opened.topicBytes());
      }
    }
    assertThat(range.bytes()).as("seed %d", seed).isPositive();
  }

  @Test
  void onlyMessagesExpiredByTheCommandsClockAreRemoved() {
    Publication early = Messages.expiring("early", "1", 1000, 1);
    Publication late = Messages.expiring("late", "1", 1000, 2);
    apply(new Set(Messages.atMost(9), early), new Set(Messages.atMost(9), late), set("never", "1"));

    RemoveExpired remove = new RemoveExpired(2000, List.of(key("early"), key("late"), key("never"), key("nowhere")));
    assertThat(apply(remove)).containsExactly(new Removed(1));
    assertThat(rows.size()).isEqualTo(2);
    assertThat(payloadOf("early")).isNull();
    assertThat(range.index().sizeClass(key("early"))).isEqualTo(SizeClass.NONE);
  }

  @Test
  @Tag("MQTT-3.3.1-5")
  void aMessageThatReplacedAnExpiredOneStaysEvenWithTheSameAcceptedTime() {
    Publication expired = Messages.expiring("a", "old", 1000, 0);
    apply(new Set(Messages.atMost(9), expired), set("a", "new"));

    assertThat(apply(new RemoveExpired(5000, List.of(key("a"))))).containsExactly(new Removed(0));
    assertThat(payloadOf("a")).isEqualTo("new");
  }

  @Test
  void openingRebuildsTheIndexFromTheRows() {
    apply(set("a", "1"), set("b", "1"), set("c/d", "1"), clear("b"));

    RetainRange again = new RetainRange();
    again.open(rows);
    again.open(rows);

    assertThat(again.index().size()).isEqualTo(2);
    assertThat(again.index().sizeClass(key("a"))).isNotEqualTo(SizeClass.NONE);
    assertThat(again.index().sizeClass(key("b"))).isEqualTo(SizeClass.NONE);
    assertThat(again.index().sizeClass(key("c/d"))).isNotEqualTo(SizeClass.NONE);
  }
}
