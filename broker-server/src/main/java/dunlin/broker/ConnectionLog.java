package dunlin.broker;

import dunlin.inbox.ConnectionId;
import dunlin.runtime.LogText;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who connects, leaves, and takes a session over: one line each in the log {@code dunlin.connections}, at DEBUG, which is off until an
 * operator wants it.
 */
final class ConnectionLog {
  private static final Logger events = LoggerFactory.getLogger("dunlin.connections");

  private ConnectionLog() {}

  static void connected(Connection connection, LiveSession session, Identity identity, boolean sessionPresent) {
    if (!events.isDebugEnabled()) return;
    Peer peer = connection.peer();
    events.debug(
        "event=connect connection={} client={} tenant={} user={} address={} listener={} mqtt={} session-present={} durable={}",
        session.connection().number(), LogText.quoted(session.clientId()), session.publisher().tenant(), LogText.quoted(identity.user()),
        LogText.quoted(peer.address().toString()), peer.listener(), session.version(), sessionPresent, session.durable());
  }

  /** Another connection of the same client had the session until now; it is told to go, and its own line follows. */
  static void takenOver(LiveSession session, ConnectionId from) {
    if (!events.isDebugEnabled()) return;
    events.debug(
        "event=takeover connection={} client={} from-connection={}",
        session.connection().number(), LogText.quoted(session.clientId()), from.number());
  }

  /** @param end in a word, what ended it */
  static void disconnected(LiveSession session, String end) {
    if (!events.isDebugEnabled()) return;
    events.debug(
        "event=disconnect connection={} client={} reason={}", session.connection().number(), LogText.quoted(session.clientId()), end);
  }
}
