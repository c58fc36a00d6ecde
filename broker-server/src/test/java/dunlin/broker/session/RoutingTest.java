package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.store.StoreException;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RoutingTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  private final OpenFrontend open = new OpenFrontend(1);

  @AfterEach
  void closes() {
    open.close();
  }

  /** Stands for a session that waits for a route. */
  private static final class Waiting {
    final List<@Nullable Throwable> arrived = new ArrayList<>();
  }

  private static Routing of(Waiting session) {
    return new Routing(session.arrived::add);
  }

  @Test
  void whatBecomesOfTheRouteArrives() {
    var session = new Waiting();
    of(session).arrived(null);
    var failure = new StoreException("no leader");
    of(session).arrived(failure);

    assertThat(session.arrived).containsExactly(null, failure);
  }

  @Test
  void aSubscriptionThatHasEndedLearnsNothingAndItsSubscribeFails() {
    var session = new Waiting();
    Routing routing = of(session);
    open.on(
        0,
        () -> {
          routing.end(open.loop(0));
          assertThat(routing.done).as("not within the code that ends it").isNotDone();
          return true;
        });
    routing.arrived(null);

    assertThat(session.arrived).isEmpty();
    assertThat(routing.done).failsWithin(1, TimeUnit.MINUTES).withThrowableThat().withCauseInstanceOf(StoreException.class);
  }

  /** The table of the filter keeps what waits for a route until it is set. */
  @Test
  void aSubscriptionThatHasEndedIsNotKept() {
    List<Routing> routings = new ArrayList<>();
    WeakReference<Waiting> session = waits(routings);
    Routing routing = routings.getFirst();
    open.on(
        0,
        () -> {
          routing.end(open.loop(0));
          return true;
        });

    await()
        .atMost(SOON)
        .until(
            () -> {
              System.gc();
              return session.get() == null;
            });
    routing.arrived(null);
  }

  private static WeakReference<Waiting> waits(List<Routing> routings) {
    var session = new Waiting();
    routings.add(of(session));
    return new WeakReference<>(session);
  }
}
