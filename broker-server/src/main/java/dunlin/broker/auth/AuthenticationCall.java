package dunlin.broker.auth;

import io.netty.util.concurrent.ScheduledFuture;
import java.net.SocketAddress;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One question to an authenticator: asked off the event loop, answered on it, once and in time whatever the authenticator does.
 *
 * @param <T> what it answers
 */
public final class AuthenticationCall<T> implements Runnable {
  /*
   * Owner: the event loop; run() is for a thread of the Authentication, which shares only the field "over".
   * Bounds: waits in the Authentication's lines. Full: answered with OVERLOADED, this one or one of a longer line.
   * Failure: an exception, no stage, no value or no answer in time is an answer without a value.
   */
  private final Authentication authentication;
  private final AskingLoop loop;
  private final SocketAddress from;
  private final Callable<CompletionStage<T>> question;
  private final Consumer<Answer<T>> receiver;

  private @Nullable ScheduledFuture<?> deadline;

  /** Written by the event loop; a thread that comes to the question afterwards does not ask it any more. */
  private volatile boolean over;

  /** What came of a question. */
  public sealed interface Answer<T> {
    /** The authenticator's answer. */
    record Given<T>(T value) implements Answer<T> {}

    /** There is none. */
    record Missing<T>(Authentication.Result why) implements Answer<T> {}
  }

  public AuthenticationCall(
      Authentication authentication,
      AskingLoop loop,
      SocketAddress from,
      Callable<CompletionStage<T>> question,
      Consumer<Answer<T>> receiver) {
    this.authentication = authentication;
    this.loop = loop;
    this.from = from;
    this.question = question;
    this.receiver = receiver;
  }

  SocketAddress from() {
    return from;
  }

  /** It must not wait any longer, for others who have waited less. Any thread. */
  void noRoom() {
    answer(new Answer.Missing<>(Authentication.Result.OVERLOADED));
  }

  /** Asks. The receiver may be called before this returns. */
  public void start() {
    deadline =
        loop.executor()
            .schedule(
                () -> end(new Answer.Missing<>(Authentication.Result.TIMED_OUT)),
                authentication.settings().timeout().toMillis(),
                TimeUnit.MILLISECONDS);
    try {
      authentication.execute(this);
    } catch (RejectedExecutionException _) {
      end(new Answer.Missing<>(Authentication.Result.OVERLOADED));
    }
  }

  @Override
  public void run() {
    if (over) return;
    // Once more: many connections of one address can have passed while none of them had failed yet.
    if (authentication.failures().exceeded(from)) {
      answer(new Answer.Missing<>(Authentication.Result.LIMITED));
      return;
    }
    try {
      Objects.requireNonNull(question.call(), "an authenticator answered null").whenComplete(this::answered);
    } catch (Throwable failure) { // this is other people's code, and whatever it throws must not let anybody in
      answered(null, failure);
    }
  }

  private void answered(@Nullable T value, @Nullable Throwable failure) {
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

  /** The answer is not wanted any more. */
  public void cancel() {
    over = true;
    if (deadline != null) deadline.cancel(false);
  }
}
