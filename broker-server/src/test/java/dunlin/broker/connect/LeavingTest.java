package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests with a session tier whose answers the test controls. */
final class LeavingTest {
  private record Told(SessionRef ref, boolean publishWill, long expirySeconds, CompletableFuture<Void> answer) {
    void refuse() {
      answer.completeExceptionally(new IllegalStateException("the disk is full"));
    }
  }

  private final List<Told> told = new ArrayList<>();
  private int refusals;

  private final Leaving leaving =
      new Leaving(
          (ref, publishWill, expirySeconds) -> {
            told.add(new Told(ref, publishWill, expirySeconds, new CompletableFuture<>()));
            return told.getLast().answer();
          },
          () -> refusals++);

  private static SessionRef session(String clientId, long epoch) {
    return new SessionRef("default", clientId, epoch);
  }

  private void leave(long connection, SessionRef ref) {
    leaving.begin(connection, ref, true, 60);
    leaving.tell(connection);
  }

  @Test
  void aReportIsNeverGivenUp() {
    leave(1, session("c", 5));
    for (int i = 0; i < 1_000; i++) {
      told.getLast().refuse();
      assertThat(leaving.waiting()).isEqualTo(1);
      assertThat(leaving.knows(1)).isTrue();
      leaving.again();
    }
    var allTold = leaving.whenAllTold();
    assertThat(allTold).isNotDone();
    told.getLast().answer().complete(null);
    leaving.again();

    assertThat(told).hasSize(1_001).allSatisfy(each -> {
      assertThat(each.ref()).isEqualTo(session("c", 5));
      assertThat(each.publishWill()).isTrue();
      assertThat(each.expirySeconds()).isEqualTo(60);
    });
    assertThat(refusals).isEqualTo(1_000);
    assertThat(leaving.waiting()).isZero();
    assertThat(leaving.knows(1)).isFalse();
    assertThat(allTold).isDone();
  }

  @Test
  void endsWhenAnotherConnectionHasTheSession() {
    leave(1, session("c", 5));
    told.getLast().answer().completeExceptionally(new StaleSessionException(session("c", 5)));

    assertThat(leaving.waiting()).isZero();
    leaving.again();
    assertThat(told).hasSize(1);
  }

  /** Its will may be due already, since the client's next connection has displaced it. */
  @Test
  void reportsADisconnectAlthoughTheNextConnectionHasEnded() {
    leaving.begin(1, session("c", 1), false, 0);
    leave(2, session("c", 2));
    var first = leaving.told(1);
    leaving.tell(1);

    assertThat(told).extracting(Told::ref).containsExactly(session("c", 2), session("c", 1));
    assertThat(first).isNotDone();
    told.getLast().answer().completeExceptionally(new StaleSessionException(session("c", 1)));
    assertThat(first).isDone();
    assertThat(leaving.waiting()).isEqualTo(1);
  }

  @Test
  void reportsADisconnectThatIsNoticedLate() {
    leave(2, session("c", 2));
    leaving.begin(1, session("c", 1), false, 0);

    assertThat(leaving.knows(1)).isTrue();
    assertThat(leaving.told(2)).isNotDone();
  }

  @Test
  void keepsOneRefusedConnectionOfAClientThatDisconnects() {
    for (long epoch = 1; epoch <= 100; epoch++) {
      leaving.begin(epoch, session("c", epoch), false, 0);
      leaving.tell(epoch);
      told.getLast().refuse();
    }
    assertThat(leaving.waiting()).isEqualTo(1);
    assertThat(leaving.told(99)).isDone();
    assertThat(leaving.told(100)).isNotDone();
  }

  @Test
  void keepsOneConnectionOfAClient() {
    for (long epoch = 1; epoch <= 100; epoch++) {
      leave(epoch, session("c", epoch));
      told.getLast().refuse();
    }
    assertThat(leaving.waiting()).isEqualTo(1);
    leave(200, session("c", 50));
    assertThat(leaving.knows(200)).isFalse();
    told.clear();

    leaving.again();

    assertThat(told).extracting(Told::ref).containsExactly(session("c", 100));
  }

  @Test
  void repeatsAFewAtATimeUntilOneIsDone() {
    for (int i = 0; i < 1_000; i++) leave(i, session("c" + i, 1));
    for (Told each : List.copyOf(told)) each.refuse();
    told.clear();

    leaving.again();
    leaving.again();
    assertThat(told).hasSize(64);
    for (int i = 0; i < told.size(); i++) told.get(i).answer().complete(null);

    assertThat(told).extracting(each -> each.ref().clientId()).doesNotHaveDuplicates().hasSize(1_000);
    assertThat(leaving.waiting()).isZero();
  }
}
