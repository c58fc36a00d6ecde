package dunlin.broker;

import dunlin.broker.connect.LoopConnections;
import dunlin.broker.connect.Reception;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

/** Asks all event loops of a frontend, and waits for their answers. */
final class LoopAnswers {
  /*
   * Owner: a thread that may block.
   * Bounds: one task for each loop; what a question goes on with in later rounds is its own affair.
   * Failure: all loops together have PATIENCE_SECONDS; then the question fails, and no answer is waited for.
   */
  private static final int PATIENCE_SECONDS = 10;

  private LoopAnswers() {}

  /**
   * The answers in the order of the loops; none before the frontend is open.
   *
   * @param question is put on each loop, and answered there, at once or in a later round
   */
  static <T> List<T> of(Reception reception, BiConsumer<LoopConnections, CompletableFuture<T>> question) {
    List<CompletableFuture<T>> asked = new ArrayList<>();
    for (LoopConnections part : reception.parts()) {
      CompletableFuture<T> answer = new CompletableFuture<>();
      asked.add(answer);
      part.loop().post(() -> question.accept(part, answer));
    }
    return await(asked);
  }

  private static <T> List<T> await(List<CompletableFuture<T>> asked) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    List<T> answers = new ArrayList<>();
    try {
      for (CompletableFuture<T> each : asked) answers.add(each.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS));
      return answers;
    } catch (TimeoutException late) {
      throw new IllegalStateException("the event loops have not answered within %d s".formatted(PATIENCE_SECONDS), late);
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", stopped);
    }
  }
}
