package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.OnlineSessions;
import dunlin.inbox.state.SessionState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class OnlineSessionsTest {
  private final OnlineSessions online = new OnlineSessions();
  private long epochs;

  private SessionState session() {
    var session = new SessionState(new SessionKey("default", "client-" + epochs), "", ++epochs);
    session.epoch = epochs;
    return session;
  }

  private static ConnectionId connection(String frontend, long incarnation, SessionState session) {
    return new ConnectionId(frontend, incarnation, session.epoch);
  }

  private SessionState add(String frontend, long incarnation) {
    var session = session();
    online.add(session, connection(frontend, incarnation, session));
    return session;
  }

  @Test
  void onlyEarlierLivesOfTheSameFrontendCount() {
    add("other", 1);
    add("node", 2);
    assertThat(online.ofEarlierLife("node", 2)).isNull();

    var lost = add("node", 1);

    assertThat(online.ofEarlierLife("node", 2)).isSameAs(lost);
    assertThat(online.ofEarlierLife("node", 1)).isNull();
    assertThat(online.ofEarlierLife("nobody", 9)).isNull();
  }

  @Test
  void aSessionThatIsNotThereCannotBeRemoved() {
    var session = add("node", 1);

    assertThatThrownBy(() -> online.remove(session, connection("node", 2, session))).isInstanceOf(IllegalStateException.class);
    online.remove(session, connection("node", 1, session));
    assertThatThrownBy(() -> online.remove(session, connection("node", 1, session))).isInstanceOf(IllegalStateException.class);
  }

  static LongStream seeds() {
    return LongStream.range(0, 30);
  }

  private record Attached(long life, SessionState session) {}

  /**
   * A replica that was built from rows must end lost connections in the same order as one that has applied the log.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void sessionsComeInTheOrderOfLivesAndEpochsHoweverTheyWereAdded(long seed) {
    var random = new Random(seed);
    var restored = new ArrayList<SessionState>();
    for (int i = 0; i < 50; i++) restored.add(session());
    Collections.shuffle(restored, random);
    var model = new ArrayList<Attached>();
    for (SessionState each : restored) model.add(attach(each, random.nextLong(1, 4)));

    for (int step = 0; step < 300; step++) {
      long before = random.nextLong(1, 6);
      assertThat(online.ofEarlierLife("node", before)).as("seed %d, step %d", seed, step).isSameAs(first(model, before));
      if (random.nextBoolean()) model.add(attach(session(), random.nextLong(1, 5)));
      else if (!model.isEmpty()) detach(model.remove(random.nextInt(model.size())));
    }
    while (!model.isEmpty()) {
      var next = first(model, 5);
      assertThat(online.ofEarlierLife("node", 5)).as("seed %d", seed).isSameAs(next);
      model.stream().filter(each -> each.session() == next).forEach(this::detach);
      model.removeIf(each -> each.session() == next);
    }
    assertThat(online.ofEarlierLife("node", 5)).as("seed %d", seed).isNull();
  }

  private Attached attach(SessionState session, long life) {
    online.add(session, connection("node", life, session));
    return new Attached(life, session);
  }

  private void detach(Attached attached) {
    online.remove(attached.session(), connection("node", attached.life(), attached.session()));
  }

  private static @Nullable SessionState first(List<Attached> model, long before) {
    return model.stream()
        .filter(each -> each.life() < before)
        .min(Comparator.comparingLong(Attached::life).thenComparingLong(each -> each.session().epoch))
        .map(Attached::session)
        .orElse(null);
  }
}
