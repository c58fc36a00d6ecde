package dunlin.inbox.operate;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * One range of sessions.
 *
 * @param state what is in memory; only what any thread may read is read
 * @param range its rows
 * @param mostOfTenant how many bytes all inboxes of a tenant may hold there
 * @param handed the highest sequence that was handed to a session's connection, as far as this node knows
 */
public record SessionPart(RangeState state, Range<?, ?> range, ToLongFunction<String> mostOfTenant, ToLongFunction<SessionState> handed) {
  private static final long PATIENCE_SECONDS = 60;

  /** Those in memory; any thread may read it. */
  Map<SessionKey, SessionState> sessions() {
    return state.sessions;
  }

  /** Shared subscriptions in memory; any thread may read it. */
  Map<GroupKey, GroupState> groups() {
    return state.groups;
  }

  /** Messages of a session's inbox with a lower sequence may have been sent to its client. */
  long sentBelow(SessionState session, Backlog inbox) {
    return session.owner() == null ? inbox.sentBelow() : Math.max(inbox.sentBelow(), handed.applyAsLong(session) + 1);
  }

  /**
   * Reads rows on a thread of the range, and waits for the answer.
   *
   * @throws IllegalStateException when that is not possible now, with the reason
   */
  <T> T read(Function<RangeReader, T> reading) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    try {
      range
          .readers()
          .execute(
              () -> {
                try {
                  answer.complete(reading.apply(range.reader()));
                } catch (RuntimeException failure) {
                  answer.completeExceptionally(failure);
                }
              });
    } catch (RejectedExecutionException _) {
      throw new IllegalStateException("the sessions were not read, since too many reads wait; ask again soon");
    }
    return await(answer, "the sessions were not read");
  }

  /**
   * Waits for an answer.
   *
   * @param failed what it means that there is none
   * @throws IllegalStateException when there is none, or it is a failure
   */
  static <T> T await(CompletableFuture<T> answer, String failed) {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      // A JMX client need not have the classes of this broker, so a failure is reported as text.
      throw new IllegalStateException(failed + ": " + (e.getCause() == null ? e : e.getCause()).getMessage());
    } catch (TimeoutException e) {
      throw new IllegalStateException(failed + " within " + PATIENCE_SECONDS + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted");
    }
  }
}
