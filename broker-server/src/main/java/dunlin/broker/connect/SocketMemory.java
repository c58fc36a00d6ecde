package dunlin.broker.connect;

import dunlin.broker.limit.Budget;
import java.util.ArrayList;
import java.util.LinkedHashSet;

/**
 * The memory of bytes that were written for the clients of one event loop and not accepted by their sockets: its share
 * of the node's budget.
 */
final class SocketMemory {
  /*
   * Owner: the event loop.
   * A connection is counted as soon as something is written for it. Netty does not report when a socket has accepted a
   * part of the waiting bytes, so the count is corrected at the end of each round in which something was written, and
   * at each tick for connections with waiting bytes.
   * Bounds: an entry in each set for each connection with waiting bytes.
   * Failure: a connection that ends releases all its bytes.
   */
  private final Budget.Share share;
  private final LinkedHashSet<Connection> behind = new LinkedHashSet<>();

  /** Connections that were not written to, or are not read from, because there was too little memory. */
  private final LinkedHashSet<Connection> waiting = new LinkedHashSet<>();

  SocketMemory(Budget.Share share) {
    this.share = share;
  }

  /** Whether more bytes may be written to a client with this many waiting ones; a refusal is counted. */
  boolean takes(long waiting, int more) {
    if (share.allows(waiting, more)) return true;
    share.refused();
    return false;
  }

  /**
   * The maximum number of bytes of answers that may wait for a client's socket; beyond that, the client is not read
   * from.
   */
  long answersMax(long usual) {
    return Math.min(usual, Math.max(1, share.free()));
  }

  /** Has a connection notified when there may be memory again. */
  void await(Connection connection) {
    waiting.add(connection);
  }

  /** Ends the wait of a connection. */
  void forget(Connection connection) {
    if (!waiting.isEmpty()) waiting.remove(connection);
  }

  /** Whether a connection waits. */
  boolean isAwaitedBy(Connection connection) {
    return !waiting.isEmpty() && waiting.contains(connection);
  }

  /** Counts memory that is taken to write into. */
  void takes(Connection connection, int bytes) {
    share.add(bytes);
    connection.countedForSocket(connection.countedForSocket() + bytes);
  }

  /** Counts the bytes that wait for a socket now. */
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

  /** Counts what the sockets have accepted, and resumes connections that waited for memory. */
  void tick() {
    if (!behind.isEmpty()) {
      for (Connection connection : new ArrayList<>(behind)) settle(connection, connection.waitingBytes());
    }
    if (!waiting.isEmpty()) new ArrayList<>(waiting).forEach(Connection::socketMemoryAgain);
  }
}
