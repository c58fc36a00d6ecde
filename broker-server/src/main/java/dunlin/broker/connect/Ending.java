package dunlin.broker.connect;

import dunlin.broker.codec.Packet;
import dunlin.broker.session.LiveSession;
import dunlin.model.ReasonCode;
import java.util.concurrent.CompletableFuture;

/**
 * What has ended a connection, and what that means for its session; MQTT 5, sections 3.14 and 4.13.
 *
 * @param reason in a word for the log
 * @param publishWill false only after DISCONNECT 0x00
 * @param byClient whether the client has said that it goes
 */
record Ending(String reason, boolean publishWill, boolean byClient) {
  /*
   * A client that sees the end may come back at once, over another event loop. Its CONNECT must not come to the session tier before this end does: that
   * would be too late then. So the session is left first, and the socket closed afterwards. What a DISCONNECT says (no will, another expiry) counts
   * nowhere else, so the socket stays open behind it until it has come there, also while publishes are in progress that a durable session waits
   * for (Reception.leave). For all other ends a connection that takes over comes to the same as the end itself: those do not wait.
   */

  /** Nothing was said. */
  static final Ending LOST = new Ending("connection-lost", true, false);

  private static final Ending DISCONNECT = new Ending("disconnect", false, true);
  private static final Ending DISCONNECT_WITH_WILL = new Ending("disconnect-with-will", true, true);

  /** The client has ended it. */
  static Ending by(Packet.Disconnect packet) {
    return packet.reason() == ReasonCode.SUCCESS ? DISCONNECT : DISCONNECT_WITH_WILL;
  }

  /** The broker has ended it. */
  static Ending by(ReasonCode reason) {
    return new Ending(reason.label(), true, false);
  }

  /**
   * Leaves a session, unless that was done before.
   *
   * @param home of its connection
   * @return completes when the socket may close
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
