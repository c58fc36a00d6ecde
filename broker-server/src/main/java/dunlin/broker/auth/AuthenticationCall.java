package dunlin.broker.auth;

import io.netty.util.concurrent.ScheduledFuture;
import java.net.SocketAddress;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of an authenticator. It is made outside the event loop and answered on it, exactly once and in time,
 * whatever the authenticator does.
 *
 * @param <T> the type of the authenticator's answer
 */
public final class AuthenticationCall<T> implements Runnable {
  /*
   * Owner: the event loop; a thread of Authentication calls run(), which shares the fields "over" and "place".
   * Bounds: it waits in the lines of Authentication. If these are full, this call or one of a longer line is answered
   * with OVERLOADED. Before it is made, it takes one of the places for calls without an answer, or is answered with OVERLOADED. It has that until the
   * authenticator has answered or the deadline has passed, even if the client has disconnected: the authenticator goes on.
   * Failure: an exception, a null stage, a null value and a timeout each become an answer without a value.
   */
  private final Authentication authentication;
  private final AskingLoop loop;
  private final SocketAddress from;
  private final boolean verifies;
  private final Callable<CompletionStage<T>> question;
  private final Consumer<Answer<T>> receiver;

  private final AtomicReference<Place> place = new AtomicReference<>(Place.NONE);
  private @Nullable ScheduledFuture<?> deadline;

  /** What the call has of the places for calls without an answer. */
  private enum Place {
    NONE,
    TAKEN,
    /** It has given its place back, or needs none any more. */
    DONE
  }

  /** Written by the event loop; a thread that starts the call afterwards does not make it any more. */
  private volatile boolean over;

  /** The result of a call. */
  public sealed interface Answer<T> {
    /** The authenticator's answer. */
    record Given<T>(T value) implements Answer<T> {}

    /** There is no answer. */
    record Missing<T>(Authentication.Result why) implements Answer<T> {}
  }

  /** @param verifies whether credentials are verified, which is not done for an address that is blocked */
  public AuthenticationCall(
      Authentication authentication,
      AskingLoop loop,
      SocketAddress from,
      boolean verifies,
      Callable<CompletionStage<T>> question,
      Consumer<Answer<T>> receiver) {
    this.authentication = authentication;
    this.loop = loop;
    this.from = from;
    this.verifies = verifies;
    this.question = question;
    this.receiver = receiver;
  }

  SocketAddress from() {
    return from;
  }

  /** Ends the wait with OVERLOADED, to make room for a client of a shorter line. Any thread. */
  void noRoom() {
    answer(new Answer.Missing<>(Authentication.Result.OVERLOADED));
  }

  /** Starts the call. The receiver may be called before this returns. */
  public void start() {
    deadline =
        loop.executor()
            .schedule(
                this::timeOut,
                authentication.settings().timeout().toMillis(),
                TimeUnit.MILLISECONDS);
    try {
      authentication.execute(this);
    } catch (RejectedExecutionException _) {
      end(new Answer.Missing<>(Authentication.Result.OVERLOADED));
    }
  }

  private void timeOut() {
    leavePlace();
    end(new Answer.Missing<>(Authentication.Result.TIMED_OUT));
  }

  private void leavePlace() {
    if (place.getAndSet(Place.DONE) == Place.TAKEN) authentication.answered();
  }

  /** Takes a place; false when there is none, or the call is over. */
  private boolean takePlace() {
    if (!authentication.mayAsk()) return false;
    if (place.compareAndSet(Place.NONE, Place.TAKEN)) return true;
    authentication.answered();
    return false;
  }

  @Override
  public void run() {
    if (over) return;
    // Check again: many connections of one address can pass the first check before any of them has failed.
    if (verifies && authentication.guard().isBlocked(from)) {
      answer(new Answer.Missing<>(Authentication.Result.LIMITED));
      return;
    }
    if (!takePlace()) {
      noRoom(); // of no consequence when the call is over
      return;
    }
    try {
      Objects.requireNonNull(question.call(), "an authenticator answered null").whenComplete(this::answered);
    } catch (Throwable failure) { // this is foreign code, and whatever it throws must not admit a client
      answered(null, failure);
    }
  }

  private void answered(@Nullable T value, @Nullable Throwable failure) {
    leavePlace();
    if (value != null && failure == null) {
      answer(new Answer.Given<>(value));
    } else {
      authentication.failed(failure == null ? new NullPointerException("an authenticator answered null") : failure);
      answer(new Answer.Missing<>(Authentication.Result.FAILED));
    }
  }

  private void answer(Answer<T> answer) {
    loop.post(() -> end(answer));
  }

  private void end(Answer<T> answer) {
    if (over) return;
    cancel();
    receiver.accept(answer);
  }

  /** Cancels the call: its answer is no longer needed. If it was made and is not answered, the deadline still gives its place back. */
  public void cancel() {
    over = true;
    boolean made = !place.compareAndSet(Place.NONE, Place.DONE) && place.get() == Place.TAKEN;
    if (!made && deadline != null) deadline.cancel(false);
  }
}
