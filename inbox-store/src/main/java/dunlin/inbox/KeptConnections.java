package dunlin.inbox;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The connections of a frontend that keeps them when it loses its link to the session tier. Over the next link the tier compares them with those that its
 * sessions name: {@link #comparing}, some questions for what is {@link #missing}, {@link #compared}. Until that has ended, no session gets a connection of
 * this frontend.
 */
public interface KeptConnections extends Connections {
  /**
   * A connection that has a session.
   *
   * @param connection its number
   * @param epoch of the session
   */
  record Owner(long connection, long epoch) {}

  /** A comparison begins. One that began before and has not ended is void. */
  void comparing();

  /**
   * Answers which of these connections are not there. Those that are there stay when the comparison ends. One that has ended, and of whose end the tier is
   * still to be told, counts as there.
   */
  CompletableFuture<List<Long>> missing(List<Owner> owners);

  /**
   * The tier has asked for all connections that sessions name: ends the others. For those that stay, what was pushed and acknowledged over the link before
   * may be lost: they read their inboxes again.
   */
  void compared();
}
