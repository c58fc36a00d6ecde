package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Reports and actions of two terms never mix. */
class FollowedTermTest {
  private final FollowedTerm allegiance = new FollowedTerm();

  @Test
  void anActionOfALowerTermIsRefused() {
    allegiance.heard(5);
    assertThat(allegiance.begin(4)).isFalse();
    assertThat(allegiance.begin(5)).isTrue();
  }

  @Test
  void anActionOfAHigherTermIsFollowed() {
    assertThat(allegiance.begin(7)).isTrue();
    assertThat(allegiance.followed()).isEqualTo(7);
  }

  @Test
  void noReportNamesANewTermWhileAnActionOfTheOldOneRuns() {
    assertThat(allegiance.begin(5)).isTrue();
    allegiance.heard(6);
    assertThat(allegiance.followed()).isEqualTo(5);
    assertThat(allegiance.begin(5)).as("another of the old one").isFalse();
    assertThat(allegiance.begin(6)).as("one of the new one").isFalse();

    allegiance.end();

    assertThat(allegiance.followed()).isEqualTo(6);
    assertThat(allegiance.begin(6)).isTrue();
  }

  @Test
  void severalActionsOfOneTermMayRunTogether() {
    assertThat(allegiance.begin(5)).isTrue();
    assertThat(allegiance.begin(5)).isTrue();
    allegiance.heard(6);
    allegiance.end();
    assertThat(allegiance.followed()).isEqualTo(5);
    allegiance.end();
    assertThat(allegiance.followed()).isEqualTo(6);
  }
}
