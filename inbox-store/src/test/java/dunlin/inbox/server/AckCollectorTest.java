package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.SessionCommand;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests the collector with a range that the test controls. */
final class AckCollectorTest {
  private record Proposed(SessionCommand.Acknowledge command, AckCollector.Ended ended) {}

  private final List<Proposed> proposed = new ArrayList<>();
  private final Set<SessionRef> gone = new HashSet<>();
  private boolean full;

  private final AckCollector collector =
      new AckCollector(
          (command, ended) -> {
            if (full) return false;
            proposed.add(new Proposed(command, ended));
            return true;
          },
          session -> !gone.contains(session));

  private static SessionRef session(String clientId) {
    return new SessionRef("default", clientId, 1);
  }

  private static long[] sequences(int count) {
    long[] sequences = new long[count];
    for (int i = 0; i < count; i++) sequences[i] = i + 1L;
    return sequences;
  }

  @Test
  void commandsThatAreRefusedLaterAreProposedAgainUntilTheyAreRecorded() {
    collector.add(session("c"), sequences(3), true);
    assertThat(collector.flushAll()).isTrue();
    assertThat(collector.waiting()).isZero();

    for (int i = 0; i < 3; i++) {
      proposed.getLast().ended().ended(false);
      assertThat(collector.waiting()).isEqualTo(3);
      collector.again();
      assertThat(collector.waiting()).isZero();
    }
    proposed.getLast().ended().ended(true);
    collector.again();

    assertThat(proposed).hasSize(4).allSatisfy(each -> {
      assertThat(each.command().sequences()).containsExactly(1, 2, 3);
      assertThat(each.command().expired()).isTrue();
    });
  }

  @Test
  void aFewAreProposedAgainAtATimeUntilTheRangeAcceptsThem() {
    for (int i = 0; i < 1_000; i++) collector.add(session("c" + i), sequences(1), false);
    collector.flushAll();
    for (Proposed each : List.copyOf(proposed)) each.ended().ended(false);
    proposed.clear();

    collector.again();
    collector.again();
    assertThat(proposed).hasSize(64);
    assertThat(collector.waiting()).isEqualTo(1_000 - 64);

    for (int i = 0; i < proposed.size(); i++) proposed.get(i).ended().ended(true);
    assertThat(proposed).extracting(each -> each.command().session().clientId()).doesNotHaveDuplicates().hasSize(1_000);
    assertThat(collector.waiting()).isZero();
  }

  @Test
  void acknowledgementsOfAnEarlierEpochAreDropped() {
    collector.add(session("gone"), sequences(2), false);
    collector.add(session("here"), sequences(2), false);
    collector.flushAll();
    for (Proposed each : List.copyOf(proposed)) each.ended().ended(false);
    gone.add(session("gone"));
    proposed.clear();

    collector.again();

    assertThat(proposed).extracting(each -> each.command().session().clientId()).containsExactly("here");
    assertThat(collector.waiting()).isZero();
  }

  @Test
  void aFullRangeLosesNothing() {
    full = true;
    collector.add(session("c"), sequences(600), false);
    assertThat(collector.flushAll()).isFalse();
    full = false;
    assertThat(collector.flushAll()).isTrue();
    proposed.getFirst().ended().ended(false);
    full = true;
    collector.again();
    assertThat(collector.waiting()).isEqualTo(600);
    full = false;
    collector.again();

    assertThat(proposed).hasSize(2);
    assertThat(proposed.getLast().command().sequences()).hasSize(600);
  }
}
