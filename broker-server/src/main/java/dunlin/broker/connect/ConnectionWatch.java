package dunlin.broker.connect;

import dunlin.broker.auth.Identity;
import dunlin.broker.auth.Peer;
import dunlin.broker.session.LiveSession;
import dunlin.inbox.ConnectionId;

/** Is told who connects, who leaves, and who takes a session over; on the connection's event loop, which it does not hold up. */
public interface ConnectionWatch {
  void connected(Peer peer, LiveSession session, Identity identity, boolean sessionPresent);

  /** Another connection of the same client had the session until now; it is closed, and its end is told too. */
  void takenOver(LiveSession session, ConnectionId from);

  /** @param reason in a few words, what ended it */
  void disconnected(LiveSession session, String reason);
}
