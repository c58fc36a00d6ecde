package dunlin.broker.connect;

import dunlin.broker.limit.Budget;
import java.util.ArrayList;
import java.util.LinkedHashSet;

/** The memory of what was written for the clients of one event loop and not taken by their sockets: its share of the node's budget. */
final class SocketMemory {
  /*
   * Owner: the event loop.
   * A connection counts from when something is written for it. Netty does not tell when a socket has taken a part of what waits, so what counts is
   *   set right at the end of each round in which something was written, and at each tick for those that something is left of.
   * Bounds: a place in each set for each connection that something waits for.
   * Failure: a connection that ends gives everything back.
   */
  private final Budget.Share share;
  private final LinkedHashSet<Connection> behind = new LinkedHashSet<>();

  /** Those that something was not written for, or that are not read from, since there was too little memory. */
  private final LinkedHashSet<Connection> waiting = new LinkedHashSet<>();

  SocketMemory(Budget.Share share) {
    this.share = share;
  }

  /** Whether a client for which so many bytes wait may be written so many more; it is counted when it may not. */
  boolean takes(long waiting, int more) {
    if (share.allows(waiting, more)) return true;
    share.refused();
    return false;
  }

  /** Bytes of answers that may wait for a client's socket; more of them only make it wait. */
  long answersMax(long usual) {
    return Math.min(usual, Math.max(1, share.free()));
  }

  /** Has a connection told when there may be memory again. */
  void await(Connection connection) {
    waiting.add(connection);
  }

  /** It waits no longer. */
  void forget(Connection connection) {
    if (!waiting.isEmpty()) waiting.remove(connection);
  }

  /** Whether it waits. */
  boolean isAwaitedBy(Connection connection) {
    return !waiting.isEmpty() && waiting.contains(connection);
  }

  /** Memory is taken to write into. */
  void takes(Connection connection, int bytes) {
    share.add(bytes);
    connection.countedForSocket(connection.countedForSocket() + bytes);
  }

  /** Counts what waits for a socket now. */
  void settle(Connection connection, long waiting) {
    long counted = connection.countedForSocket();
    if (counted == waiting) {
      if (waiting != 0) behind.add(connection);
      return;
    }
    share.add(waiting - counted);
    connection.countedForSocket(waiting);
    if (waiting > 0) behind.add(connection);
    else if (!behind.isEmpty()) behind.remove(connection);
  }

  /** Looks how much the sockets have taken, and lets those be written to again that were not for lack of memory. */
  void tick() {
    if (!behind.isEmpty()) {
      for (Connection connection : new ArrayList<>(behind)) settle(connection, connection.waitingBytes());
    }
    if (!waiting.isEmpty()) new ArrayList<>(waiting).forEach(Connection::socketMemoryAgain);
  }
}
