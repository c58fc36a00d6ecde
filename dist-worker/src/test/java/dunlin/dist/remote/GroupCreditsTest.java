package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
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

    assertThat(credits.characters()).isLessThan(6_000_000);
    for (int i = 0; i < 1_000; i++) assertThat(credits.of(group("short-" + i)).value()).isEqualTo(7);
    assertThat(credits.of(group(1_999 + "x".repeat(60_000))).value()).isEqualTo(9);
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
