package dunlin.broker.users;

import dunlin.broker.users.AccessEntry.Kind;
import dunlin.broker.users.AccessEntry.RowKey;
import dunlin.runtime.EventLine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.NoSuchElementException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Makes changes of rows, waits until this node's copy has them, and says so in the log {@code dunlin.audit}. */
public final class AccessChanges {
  /*
   * Owner: any thread that may block.
   * Failure: a row that is missing is a NoSuchElementException, and all else that is refused an IllegalStateException. A change of which it is not
   *   known whether it was made is an UncheckedIOException; one that is not answered within PATIENCE_SECONDS may still be made.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");
  private static final int PATIENCE_SECONDS = 10;

  private final AccessClient client;
  private final AccessCopy copy;
  private final String node;

  /** @param node its name, for events */
  public AccessChanges(AccessClient client, AccessCopy copy, String node) {
    this.client = client;
    this.copy = copy;
    this.node = node;
  }

  /**
   * Creates or replaces a row.
   *
   * @param version that the row must have: -1 for any, 0 for one that does not exist
   * @return the new version
   */
  public long put(AccessEntry entry, boolean keepsVerifier, long version) {
    return change("put", entry.key(), new AccessChange.Put(expected(version), entry, keepsVerifier));
  }

  /**
   * Deletes a row.
   *
   * @param version that the row must have; -1 for any
   * @return the new version of the range
   */
  public long delete(RowKey key, long version) {
    return change("delete", key, new AccessChange.Delete(expected(version), key));
  }

  private static long expected(long version) {
    if (version < AccessChange.ANY) throw new IllegalArgumentException("a version is -1 for any, 0 for none, or one that was shown");
    return version;
  }

  private long change(String action, RowKey key, AccessChange change) {
    var result = await(change);
    return switch (result) {
      case AccessResult.Done(var version) -> {
        copy.await(version, Duration.ofSeconds(PATIENCE_SECONDS));
        EventLine.of(events, Level.INFO, "access-changed")
            .text("node", node)
            .word("action", action)
            .word("kind", label(key.kind()))
            .text("name", key.name())
            .number("version", version)
            .write();
        yield version;
      }
      case AccessResult.Refused(var why, var sentence) ->
          throw why == AccessResult.Why.MISSING ? new NoSuchElementException(sentence) : new IllegalStateException(sentence);
    };
  }

  private static String label(Kind kind) {
    return switch (kind) {
      case USER -> "user";
      case ROLE -> "role";
      case BANNED_CLIENT -> "client-ban";
      case BANNED_USER -> "user-ban";
      case BANNED_ADDRESS -> "address-ban";
      case TENANT -> "tenant";
    };
  }

  private AccessResult await(AccessChange change) {
    try {
      return client.change(change).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw unanswered("the change was not made, or it is not known whether it was: " + cause.getMessage(), cause);
    } catch (TimeoutException e) {
      throw unanswered("it is not known whether the change was made: there is no answer after " + PATIENCE_SECONDS + " s", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private static UncheckedIOException unanswered(String sentence, Throwable cause) {
    return new UncheckedIOException(sentence, new IOException(cause));
  }
}
