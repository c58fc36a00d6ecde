package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.SessionRef;
import org.junit.jupiter.api.Test;

class MergedAcksTest {
  private static final SessionRef SESSION = new SessionRef("t", "c", 1);

  @Test
  void takesWhatIsAddedUntilItIsTaken() {
    long[] first = {5, 6};
    var acks = new MergedAcks(SESSION, first);
    first[0] = 9;
    assertThat(acks.add(new long[] {7})).isTrue();

    assertThat(acks.take()).containsExactly(5, 6, 7);
    assertThat(acks.add(new long[] {8})).as("too late").isFalse();
  }

  @Test
  void beginsWithAnyNumberAndTakesNoMoreBeyondItsBound() {
    var acks = new MergedAcks(SESSION, new long[10_000]);

    assertThat(acks.add(new long[1])).isFalse();
    assertThat(acks.take()).hasSize(10_000);
  }
}
