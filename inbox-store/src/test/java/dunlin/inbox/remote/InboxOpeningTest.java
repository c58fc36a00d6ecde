package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.transport.link.LinkRefusedException;
import org.junit.jupiter.api.Test;

class InboxOpeningTest {
  @Test
  void aFrontendSpeaksForItselfAlone() {
    var opening = new InboxOpening("one", 1, 1);

    assertThat(opening.of("one")).isSameAs(opening);
    assertThat(opening.of("")).as("where callers are not verified").isSameAs(opening);
    assertThatThrownBy(() -> opening.of("two")).isInstanceOf(LinkRefusedException.class).hasMessageContaining("node one").hasMessageContaining("node two");
  }

  @Test
  void aLinkIsLaterByItsLifeAndThenByItsNumber() {
    var opening = new InboxOpening("one", 5, 3);

    assertThat(opening.isLaterThan(new InboxOpening("one", 5, 2))).isTrue();
    assertThat(opening.isLaterThan(new InboxOpening("one", 4, 9))).isTrue();
    assertThat(opening.isLaterThan(opening)).isFalse();
    assertThat(opening.isLaterThan(new InboxOpening("one", 5, 4))).isFalse();
    assertThat(opening.isLaterThan(new InboxOpening("one", 6, 1))).isFalse();
  }
}
