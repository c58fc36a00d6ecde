package dunlin.admin;

import com.sun.net.httpserver.HttpExchange;
import dunlin.broker.limit.AddressCounts;
import dunlin.runtime.Deadlines;
import dunlin.runtime.Deadlines.Deadline;
import dunlin.runtime.LogText;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers a number of requests at a time, each on a virtual thread of its own and within a time. */
final class RequestPlaces {
  /*
   * Owner: the admin port's handler threads call start(); each request has its own thread from there.
   * Bounds: as many requests as there are places, and of one client as many as it may take; start() answers false beyond that. A request has the seconds of its place to come
   * and to be answered, unless its deadline is extended: then its thread is interrupted, which closes the connection, so that neither a slow
   * body nor a slow reader of an answer holds a place longer.
   * Failure: logged, and the connection is closed.
   */
  private static final Logger log = LoggerFactory.getLogger(RequestPlaces.class);

  private final Semaphore places;
  private final AddressCounts clients;
  private final int seconds;
  private final Deadlines deadlines;
  private final Runnable onFailure;

  interface Answering {
    /** @return what goes on with the connection once the request has left its place, and closes it; empty when all is answered */
    Optional<Runnable> answer(HttpExchange exchange, Deadline deadline) throws IOException;
  }

  /** Places that one client may take all of. */
  RequestPlaces(int most, int seconds, Deadlines deadlines, Runnable onFailure) {
    this(most, most, seconds, deadlines, onFailure);
  }

  /**
   * @param perClient the most for one address
   * @param onFailure called when an answer fails for a reason that is no client's
   */
  RequestPlaces(int most, int perClient, int seconds, Deadlines deadlines, Runnable onFailure) {
    places = new Semaphore(most);
    clients = new AddressCounts(perClient);
    this.seconds = seconds;
    this.deadlines = deadlines;
    this.onFailure = onFailure;
  }

  /** Begins to answer a request; false, without anything done, when there is no place. */
  boolean start(HttpExchange exchange, Door door, Answering answering) {
    if (!clients.add(door.client())) return false;
    if (!places.tryAcquire()) {
      clients.remove(door.client());
      return false;
    }
    Thread.ofVirtual().name("dunlin-admin-request").start(() -> answerIn(exchange, door, answering).ifPresent(Runnable::run));
    return true;
  }

  private Optional<Runnable> answerIn(HttpExchange exchange, Door door, Answering answering) {
    Optional<Runnable> further = Optional.empty();
    try (Deadline deadline = deadlines.begin(seconds)) {
      try {
        further = answering.answer(exchange, deadline);
      } finally {
        if (further.isEmpty()) exchange.close(); // within the deadline, since it may wait for the rest of a body
      }
    } catch (IOException gone) {
      log.debug("A client of the admin port went away", gone);
    } catch (RuntimeException | Error failure) {
      onFailure.run();
      log.warn("The admin port could not answer {}", LogText.escaped(String.valueOf(exchange.getRequestURI())), failure);
    } finally {
      places.release();
      clients.remove(door.client());
    }
    return further;
  }
}
