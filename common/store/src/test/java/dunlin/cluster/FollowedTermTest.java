package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Reports and actions of two terms never mix. */
class FollowedTermTest {
  private final FollowedTerm term = new FollowedTerm();

  @Test
  void anActionOfALowerTermIsRefused() {
    term.heard(5);
    assertThat(term.begin(4)).isFalse();
    assertThat(term.begin(5)).isTrue();
  }

  @Test
  void anActionOfAHigherTermIsFollowed() {
    assertThat(term.begin(7)).isTrue();
    assertThat(term.followed()).isEqualTo(7);
  }

  @Test
  void noReportNamesANewTermWhileAnActionOfTheOldOneRuns() {
    assertThat(term.begin(5)).isTrue();
    term.heard(6);
    assertThat(term.followed()).isEqualTo(5);
    assertThat(term.begin(5)).as("another of the old one").isFalse();
    assertThat(term.begin(6)).as("one of the new one").isFalse();

    term.end();

    assertThat(term.followed()).isEqualTo(6);
    assertThat(term.begin(6)).isTrue();
  }

  @Test
  void severalActionsOfOneTermMayRunTogether() {
    assertThat(term.begin(5)).isTrue();
    assertThat(term.begin(5)).isTrue();
    term.heard(6);
    term.end();
    assertThat(term.followed()).isEqualTo(5);
    term.end();
    assertThat(term.followed()).isEqualTo(6);
  }
}
