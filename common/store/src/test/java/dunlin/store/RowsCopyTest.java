package dunlin.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.UUID;
import org.junit.jupiter.api.Test;

class RowsCopyTest {
  private static final UUID NODE = new UUID(1, 1);

  @Test
  void aTryIsGivenUpWhileItFetches() {
    var one = new RowsCopy.Try(NODE);

    one.giveUp();

    assertThat(Thread.interrupted()).isTrue();
    one.fetched();
  }

  @Test
  void aTryThatHasFetchedAllCannotBeGivenUp() {
    var one = new RowsCopy.Try(NODE);
    one.fetched();

    one.giveUp();

    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void givingUpInTheMomentInWhichAllHasComeLeavesNothingBehind() {
    var one = new RowsCopy.Try(NODE);
    one.giveUp();

    one.fetched();

    assertThat(Thread.interrupted()).isFalse();
  }
}
