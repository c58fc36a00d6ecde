package dunlin.broker;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.broker.auth.Identity;
import dunlin.broker.auth.Peer;
import dunlin.broker.connect.ConnectionWatch;
import dunlin.broker.session.LiveSession;
import dunlin.inbox.ConnectionId;
import dunlin.runtime.EventLine;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Reports connects, disconnects and take-overs: each is one line in the log {@code dunlin.connections}, at DEBUG, which
 * is off by default, and one call of the application's listener, if there is one.
 */
public final class ConnectionEvents implements ConnectionWatch, AutoCloseable {
  /*
   * Owner: event loops report and never wait for the listener. A lock guards the waiting events, and one virtual thread
   * calls the listener.
   * Bounds: EVENTS_MAX events wait, each with texts that the limits of a CONNECT bound.
   * Failure: if the queue is full, an event is dropped and counted, and a call of the listener says at that point how
   * many it has missed. A listener that throws gets the next event. Events that still wait CLOSE_MAX after the node was closed
   * are discarded.
   */
  static final int EVENTS_MAX = 10_000;
  private static final Duration CLOSE_MAX = Duration.ofSeconds(1);
  private static final Logger events = LoggerFactory.getLogger("dunlin.connections");
  private static final Logger log = LoggerFactory.getLogger(ConnectionEvents.class);

  private final InstantSource clock;
  private final @Nullable Listening listening;

  /** @param listener the application's listener, or null */
  public ConnectionEvents(@Nullable Consumer<ConnectionEvent> listener, InstantSource clock, MeterRegistry meters) {
    this.clock = clock;
    this.listening = listener == null ? null : new Listening(listener, clock, meters);
  }

  @Override
  public void connected(Peer peer, LiveSession session, Identity identity, boolean sessionPresent) {
    long number = session.connection().number();
    String tenant = session.publisher().tenant();
    if (events.isDebugEnabled()) {
      EventLine.of(events, Level.DEBUG, "connect")
          .number("connection", number)
          .text("client", session.clientId())
          .word("tenant", tenant)
          .text("user", identity.user())
          .text("address", peer.address().toString())
          .word("listener", peer.listener())
          .word("mqtt", String.valueOf(session.version()))
          .flag("session-present", sessionPresent)
          .flag("durable", session.durable())
          .write();
    }
    if (listening == null) return;
    listening.offer(
        new ConnectionEvent.Connected(
            clock.instant(), number, tenant, session.clientId(), identity.user(), peer.address(), peer.listener(), session.version().level(), sessionPresent));
  }

  @Override
  public void takenOver(LiveSession session, ConnectionId from) {
    long number = session.connection().number();
    if (events.isDebugEnabled()) {
      EventLine.of(events, Level.DEBUG, "takeover")
          .number("connection", number)
          .text("client", session.clientId())
          .number("from-connection", from.number())
          .write();
    }
    if (listening == null) return;
    listening.offer(
        new ConnectionEvent.TakenOver(clock.instant(), number, session.publisher().tenant(), session.clientId(), from.number()));
  }

  @Override
  public void disconnected(LiveSession session, String reason) {
    long number = session.connection().number();
    if (events.isDebugEnabled()) {
      EventLine.of(events, Level.DEBUG, "disconnect").number("connection", number).text("client", session.clientId()).word("reason", reason).write();
    }
    if (listening == null) return;
    listening.offer(
        new ConnectionEvent.Disconnected(clock.instant(), number, session.publisher().tenant(), session.clientId(), reason));
  }

  /** Delivers waiting events to the listener, for up to CLOSE_MAX. */
  @Override
  public void close() {
    if (listening != null) listening.close();
  }

  /** The application's listener and its waiting events. */
  private static final class Listening {
    private final Consumer<ConnectionEvent> listener;
    private final InstantSource clock;
    private final Counter dropped;
    private final Thread thread;
    @GuardedBy("this")
    private final ArrayDeque<ConnectionEvent> waiting = new ArrayDeque<>();
    @GuardedBy("this")
    private long missed; // since the last queued event
    @GuardedBy("this")
    private boolean closed;

    Listening(Consumer<ConnectionEvent> listener, InstantSource clock, MeterRegistry meters) {
      this.listener = listener;
      this.clock = clock;
      this.dropped =
          Counter.builder("dunlin.application.events-dropped")
              .description("Events of connections that the application's listener missed because it did not keep up")
              .register(meters);
      this.thread = Thread.ofVirtual().name("dunlin-connection-events").unstarted(this::run);
      thread.start();
    }

    synchronized void offer(ConnectionEvent event) {
      if (closed) return;
      if (waiting.size() >= EVENTS_MAX) {
        missed++;
        dropped.increment();
        return;
      }
      tellMissed();
      waiting.add(event);
      notifyAll();
    }

    private synchronized @Nullable ConnectionEvent take() throws InterruptedException {
      while (waiting.isEmpty() && missed == 0 && !closed) wait();
      if (waiting.isEmpty()) tellMissed();
      return waiting.poll();
    }

    @GuardedBy("this")
    private void tellMissed() {
      if (missed > 0) waiting.add(new ConnectionEvent.Missed(clock.instant(), missed));
      missed = 0;
    }

    private void run() {
      try {
        for (ConnectionEvent next; (next = take()) != null; ) tell(next);
      } catch (InterruptedException e) {
        log.warn("The thread that reports connections to the application was interrupted: no more are reported");
        close();
      }
    }

    private void tell(ConnectionEvent event) {
      try {
        listener.accept(event);
      } catch (RuntimeException | Error e) {
        log.error("The application's listener for connections failed with {}", event.getClass().getSimpleName(), e);
      }
    }

    void close() {
      synchronized (this) {
        closed = true;
        notifyAll();
      }
      try {
        if (Thread.currentThread().equals(thread) || thread.join(CLOSE_MAX)) return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      synchronized (this) {
        waiting.clear();
      }
    }
  }
}
