package dunlin.broker.connect;

import dunlin.broker.auth.Identity;
import dunlin.broker.auth.Peer;
import dunlin.broker.session.LiveSession;
import dunlin.inbox.ConnectionId;

/** Is notified of connects, disconnects and take-overs, on the connection's event loop; must not block. */
public interface ConnectionWatch {
  void connected(Peer peer, LiveSession session, Identity identity, boolean sessionPresent);

  /**
   * Another connection of the same client had the session until now; it is closed, and its end is reported as well.
   */
  void takenOver(LiveSession session, ConnectionId from);

  /** @param reason why it ended, in a few words */
  void disconnected(LiveSession session, String reason);
}
