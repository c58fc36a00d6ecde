package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.session.LiveSession;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.InstantSource;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The application's listener for connections when it does not keep up. */
class ConnectionEventsTest {
  private static final int MOST = ConnectionEvents.EVENTS_MAX;
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  private static String next(BlockingQueue<ConnectionEvent> told) throws InterruptedException {
    return switch (told.poll(60, TimeUnit.SECONDS)) {
      case null -> "nothing";
      case ConnectionEvent.Disconnected event -> event.reason();
      case ConnectionEvent.Missed event -> "missed " + event.count();
      case ConnectionEvent event -> event.toString();
    };
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aBlockedListenerIsToldWhereItHasMissedEvents() throws InterruptedException {
    var told = new LinkedBlockingQueue<ConnectionEvent>();
    var entered = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    try (var open = new OpenFrontend(1);
        var events =
            new ConnectionEvents(
                event -> {
                  entered.countDown();
                  awaitQuietly(release);
                  told.add(event);
                },
                InstantSource.system(), meters)) {
      LiveSession session = open.session(0, "c");
      events.disconnected(session, "first");
      awaitQuietly(entered);
      for (int i = 0; i < MOST + 7; i++) events.disconnected(session, "" + i);
      release.countDown();
      assertThat(next(told)).isEqualTo("first");
      for (int i = 0; i < MOST; i++) assertThat(next(told)).isEqualTo("" + i);
      assertThat(next(told)).isEqualTo("missed 7");
      events.disconnected(session, "after");
      assertThat(next(told)).isEqualTo("after");
      assertThat(meters.get("dunlin.application.events-dropped").counter().count()).isEqualTo(7);
    }
  }

  @Test
  void aListenerThatNeverReturnsDoesNotDelayTheEnd() {
    var told = new LinkedBlockingQueue<ConnectionEvent>();
    var entered = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    try (var open = new OpenFrontend(1)) {
      LiveSession session = open.session(0, "c");
      var events =
          new ConnectionEvents(
              event -> {
                told.add(event);
                entered.countDown();
                awaitQuietly(release);
              },
              InstantSource.system(), meters);
      events.disconnected(session, "first");
      events.disconnected(session, "second");
      awaitQuietly(entered);
      events.close();
      release.countDown();
      events.disconnected(session, "third");
      events.close();
      assertThat(told).as("what has been told").hasSize(1);
    }
  }

  @Test
  void aListenerThatThrowsIsToldTheNextEvent() throws InterruptedException {
    var told = new LinkedBlockingQueue<ConnectionEvent>();
    try (var open = new OpenFrontend(1);
        var events =
            new ConnectionEvents(
                event -> {
                  told.add(event);
                  throw new IllegalStateException("by design");
                },
                InstantSource.system(), meters)) {
      LiveSession session = open.session(0, "c");
      events.disconnected(session, "first");
      events.disconnected(session, "second");
      assertThat(next(told)).isEqualTo("first");
      assertThat(next(told)).isEqualTo("second");
    }
  }
}
