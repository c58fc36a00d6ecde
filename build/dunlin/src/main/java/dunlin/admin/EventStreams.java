package dunlin.admin;

import com.google.gson.Gson;
import com.sun.net.httpserver.HttpExchange;
import dunlin.admin.events.EventSource;
import dunlin.admin.operate.Problem;
import dunlin.runtime.Deadlines;
import dunlin.runtime.Deadlines.Deadline;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The streams of server-sent events that are open. */
final class EventStreams implements AutoCloseable {
  /*
   * Owner: each stream is sent by the virtual thread of its request. A slow reader makes that thread wait, and no other.
   * Bounds: STREAMS_MAX streams; beyond it, 503. Nothing waits for a stream but what its source has bounded: it is asked for events when those
   * before are written, which each must be within WRITE_SECONDS, or else the connection is closed.
   * Failure: a stream writes with every look, if only a comment, so a client that has gone is found out within seconds. One whose token is not
   * valid any more is ended at the next look.
   */
  private static final Logger log = LoggerFactory.getLogger(EventStreams.class);
  static final int STREAMS_MAX = 16;
  private static final int WRITE_SECONDS = 10;
  private static final byte[] NOTHING_NEW = ":\n\n".getBytes(StandardCharsets.UTF_8);

  private final Semaphore places = new Semaphore(STREAMS_MAX);
  private final Set<Thread> sending = ConcurrentHashMap.newKeySet();
  private final Gson gson;
  private final Deadlines deadlines;

  private volatile boolean closed; // set by the thread that closes the node

  EventStreams(Gson gson, Deadlines deadlines, MeterRegistry registry) {
    this.gson = gson;
    this.deadlines = deadlines;
    Gauge.builder("dunlin.admin.streams", sending, Set::size).description("Open streams of events of the admin API").register(registry);
  }

  /**
   * Takes a place for a stream. What it returns sends the stream and gives the place back.
   *
   * @param count the events after which it ends; 0 for no end
   * @param allowed whether it may go on; asked with each look
   * @throws Problem when there is no place, or what the source throws
   */
  Runnable open(HttpExchange exchange, Supplier<EventSource> opening, int count, BooleanSupplier allowed) {
    if (!places.tryAcquire()) throw new Problem(503, "The admin API sends %d streams of events at a time; ask again when one has ended.".formatted(STREAMS_MAX));
    boolean opened = false;
    try {
      EventSource source = opening.get();
      opened = true;
      return () -> send(exchange, source, count, allowed);
    } finally {
      if (!opened) places.release();
    }
  }

  private void send(HttpExchange exchange, EventSource source, int count, BooleanSupplier allowed) {
    sending.add(Thread.currentThread());
    try (exchange;
        source) {
      ApiHeaders.set(exchange, "text/event-stream");
      exchange.sendResponseHeaders(200, ApiHeaders.NO_LENGTH);
      try (OutputStream out = exchange.getResponseBody()) {
        for (int left = count == 0 ? Integer.MAX_VALUE : count; left > 0 && allowed.getAsBoolean() && !closed; ) {
          List<? extends Record> events = source.look();
          write(out, events.subList(0, Math.min(left, events.size())));
          if (count > 0) left -= events.size();
          if (source.ended()) left = 0;
          if (left > 0) Thread.sleep(source.pause());
        }
      }
    } catch (IOException gone) {
      log.debug("A stream of events has ended", gone);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error failure) {
      if (closed) log.debug("A stream of events has ended with the node", failure);
      else log.warn("A stream of events of the admin API has failed", failure);
    } finally {
      sending.remove(Thread.currentThread());
      places.release();
    }
  }

  private void write(OutputStream out, List<? extends Record> events) throws IOException {
    try (Deadline _ = deadlines.begin(WRITE_SECONDS)) {
      if (events.isEmpty()) out.write(NOTHING_NEW);
      for (Record event : events) out.write(("data: " + gson.toJson(event) + "\n\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
    }
  }

  @Override
  public void close() {
    closed = true;
    sending.forEach(Thread::interrupt);
  }
}
