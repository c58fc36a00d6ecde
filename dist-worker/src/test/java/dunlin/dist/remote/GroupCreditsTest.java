package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is held of groups with long names. */
class GroupCreditsTest {
  private final GroupCredits credits = new GroupCredits(() -> 0);

  private static Route group(String name) {
    return new Route("t", TopicFilter.parse("$share/" + name + "/t").orElseThrow(), ShardId.frontend("n"), 4, 0);
  }

  @Test
  void thousandsOfLongNamesAreNotHeldAndTakeThePlaceOfNoOthers() {
    for (int i = 0; i < 1_000; i++) credits.said(group("short-" + i), 7);

    for (int i = 0; i < 2_000; i++) credits.said(group(i + "x".repeat(60_000)), 9);

    assertThat(credits.characters()).isLessThan(1_200_000);
    for (int i = 0; i < 1_000; i++) assertThat(credits.of(group("short-" + i)).value()).isEqualTo(7);
    assertThat(credits.of(group(1_999 + "x".repeat(60_000))).value()).isEqualTo(9);
  }

  /** Else each of them would be asked for again with each message, and a group without room would get some. */
  @Test
  void aThousandGroupsWithRatherLongNamesAreKnown() {
    for (int i = 0; i < 1_000; i++) credits.said(group(i + "x".repeat(500)), 0);

    for (int i = 0; i < 1_000; i++) assertThat(credits.of(group(i + "x".repeat(500))).value()).isZero();
  }

  /** Only some are forgotten when there are more than are held. */
  @Test
  void someOfTooManyLongNamesAreForgotten() {
    for (int i = 0; i < 100; i++) credits.said(group(i + "x".repeat(15_000)), 0);

    long known = IntStream.range(0, 100).filter(i -> credits.of(group(i + "x".repeat(15_000))).value() == 0).count();
    assertThat(known).isGreaterThan(20);
    assertThat(credits.characters()).isLessThan(1_200_000);
  }

  @Test
  void allAreForgottenWithTheLink() {
    credits.said(group("short"), 7);
    credits.said(group("x".repeat(60_000)), 9);

    credits.forget();

    assertThat(credits.characters()).isZero();
    assertThat(credits.of(group("short")).value()).isEqualTo(2);
    assertThat(credits.of(group("x".repeat(60_000))).value()).isEqualTo(2);
  }
}
