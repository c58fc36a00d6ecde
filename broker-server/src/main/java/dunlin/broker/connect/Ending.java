package dunlin.broker.connect;

import dunlin.broker.codec.Packet;
import dunlin.broker.session.LiveSession;
import dunlin.model.ReasonCode;
import java.util.concurrent.CompletableFuture;

/**
 * Why a connection has ended, and what that means for its session; MQTT 5, sections 3.14 and 4.13.
 *
 * @param reason a word for the log
 * @param publishWill false only after DISCONNECT 0x00
 * @param byClient whether the client has sent DISCONNECT
 */
record Ending(String reason, boolean publishWill, boolean byClient) {
  /*
   * A client that notices the end may reconnect at once, over another event loop. Its CONNECT must not reach the
   * session tier before this end does, because the end would then be stale. So the session is left first, and the
   * socket is closed afterwards. What a DISCONNECT says (no will, another expiry) is known nowhere else, so the socket
   * stays open until the session tier has it, also while publishes are in progress that a durable session waits for
   * (Reception.leave). All other ends do not wait: a connection that takes over has the same effect as the end itself.
   */

  /** The connection was lost without a DISCONNECT. */
  static final Ending LOST = new Ending("connection-lost", true, false);

  private static final Ending DISCONNECT = new Ending("disconnect", false, true);
  private static final Ending DISCONNECT_WITH_WILL = new Ending("disconnect-with-will", true, true);

  /** The client has sent DISCONNECT. */
  static Ending by(Packet.Disconnect packet) {
    return packet.reason() == ReasonCode.SUCCESS ? DISCONNECT : DISCONNECT_WITH_WILL;
  }

  /** The broker has closed the connection. */
  static Ending by(ReasonCode reason) {
    return new Ending(reason.label(), true, false);
  }

  /**
   * Leaves a session, unless that was done before.
   *
   * @param home the connections of its event loop
   * @return completes when the socket may be closed
   */
  CompletableFuture<Void> leave(LoopConnections home, LiveSession session, long sessionExpirySeconds) {
    CompletableFuture<Void> proposed = CompletableFuture.completedFuture(null);
    if (!session.ended()) {
      session.end();
      home.reception().watch().disconnected(session, reason);
      proposed = home.reception().leave(home, session, publishWill, sessionExpirySeconds);
    }
    return byClient ? proposed : CompletableFuture.completedFuture(null);
  }
}
