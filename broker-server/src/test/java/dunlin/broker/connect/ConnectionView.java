package dunlin.broker.connect;

import dunlin.broker.listen.Listener;
import dunlin.broker.session.ClientConnection;
import dunlin.broker.session.LiveSession;
import java.util.List;
import java.util.Objects;

/** What tests of other packages look at and do in connections; on their loop, but for {@link #of}. */
public final class ConnectionView {
  private ConnectionView() {}

  /** A connection that no listener has accepted, and that has no channel yet. */
  public static ClientConnection of(LoopConnections home, Listener listener) {
    return new Connection(home, listener);
  }

  public static boolean isOpen(ClientConnection connection) {
    return ((Connection) connection).open();
  }

  /** All of one loop. */
  public static List<? extends ClientConnection> all(LoopConnections loop) {
    return loop.table().all();
  }

  /** The sessions of all of one loop. */
  public static List<LiveSession> sessions(LoopConnections loop) {
    return loop.table().all().stream().map(Connection::session).filter(Objects::nonNull).toList();
  }

  /** Waits no longer for what came over connections that have ended, as if it were later. */
  public static void giveUpUnsettled(LoopConnections loop, long nowNanos) {
    loop.giveUpUnsettled(nowNanos);
  }
}
