package dunlin.inbox.between;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A range of sessions as the leader of another one asks it. Futures fail with a {@code StoreException} while the range has no leader that answers. */
public interface OtherRange {
  /** The most sessions of one question. */
  int SESSIONS_MAX = 1_024;

  /**
   * What a range has of the quantities that are bounded for all ranges together.
   *
   * @param durable durable sessions
   * @param memory bytes of sessions and subscriptions
   * @param messageBytes bytes of the messages in all inboxes
   */
  record Sums(long durable, long memory, long messageBytes) {
    /** Of a range without sessions. */
    public static final Sums NONE = new Sums(0, 0, 0);

    public Sums {
      if (durable < 0 || memory < 0 || messageBytes < 0) throw new IllegalArgumentException("sums of a range are %d, %d and %d".formatted(durable, memory, messageBytes));
    }

    Sums plus(Sums other) {
      return new Sums(durable + other.durable, memory + other.memory, messageBytes + other.messageBytes);
    }
  }

  /**
   * A session of a client.
   *
   * @param birth the epoch of its first connection, which tells it from other sessions of the client
   */
  record Birth(String tenant, String clientId, long birth) {}

  CompletableFuture<Sums> sums();

  /**
   * Asks which sessions of this range have ended. A session has not ended as long as its range cannot be sure of it.
   *
   * @param sessions at most SESSIONS_MAX
   * @return for each, whether it has ended
   */
  CompletableFuture<List<Boolean>> ended(List<Birth> sessions);
}
