package dunlin.broker.connect;

import dunlin.broker.listen.Listener;
import dunlin.broker.session.ClientConnection;
import dunlin.broker.session.LiveSession;
import java.util.List;
import java.util.Objects;

/** Access to connections for tests of other packages; on their loop, except {@link #of}. */
public final class ConnectionView {
  private ConnectionView() {}

  /** A connection that no listener has accepted, and that has no channel yet. */
  public static ClientConnection of(LoopConnections home, Listener listener) {
    return new Connection(home, listener);
  }

  public static boolean isOpen(ClientConnection connection) {
    return ((Connection) connection).open();
  }

  /** All connections of one loop. */
  public static List<? extends ClientConnection> all(LoopConnections loop) {
    return loop.table().all();
  }

  /** The sessions of all connections of one loop. */
  public static List<LiveSession> sessions(LoopConnections loop) {
    return loop.table().all().stream().map(Connection::session).filter(Objects::nonNull).toList();
  }

  /** Stops waiting for publishes of ended connections, as at a later time. */
  public static void giveUpUnsettled(LoopConnections loop, long nowNanos) {
    loop.giveUpUnsettled(nowNanos);
  }
}
