package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.QoS;
import java.util.concurrent.CompletableFuture;

/** The frontends' live connections, as the owner of the sessions reaches them. Called from any thread; never blocks. */
public interface Connections {
  /**
   * Offers a message to the connection of a durable session. With QoS 1 or 2 it is stored already, and a connection that
   * cannot take it now, or whose event loop has too much on its way already, {@linkplain InboxClient#fetch fetches} it later; pushes
   * come in ascending sequence but may have gaps. One that comes before the answer to CONNECT has been dealt with is fetched as well.
   * With QoS 0 it is not stored: the connection sends it or drops and counts it. Called from a publisher's lane, a copy holds credit
   * of that lane until the connection has it.
   */
  void push(ConnectionId connection, InboxMessage message);

  /** More is stored for a connection than was pushed to it: it {@linkplain InboxClient#fetch fetches} what it has not seen. */
  void behind(ConnectionId connection);

  /** Another connection has taken the session over: closes this one with 0x8E [MQTT-3.1.4-3]. */
  void displaced(ConnectionId connection);

  /** An operator has ended it: closes it with 0x98, as a connection that is lost. */
  void dismissed(ConnectionId connection);

  /**
   * Completes when everything that came over a connection has come to its end, and at once for one that is not there; never with a failure. A client that
   * has moved to another connection is not listened to before.
   */
  CompletableFuture<Void> settled(ConnectionId connection);

  /**
   * A message of a durable session.
   *
   * @param sequence position in the inbox, ascending from 1; 0 with QoS 0
   * @param qos the QoS to send with: the lower of the message's and the subscription's
   * @param retain the RETAIN flag to send with
   * @param released whether the client's PUBREC was recorded, so that only PUBREL is owed [MQTT-4.3.3-6]
   * @param delivered whether it may have been sent before, so that DUP is due
   * @param subscriptionIdentifiers of all subscriptions that matched
   */
  record InboxMessage(
      long sequence,
      QoS qos,
      boolean retain,
      boolean released,
      boolean delivered,
      int[] subscriptionIdentifiers,
      Publication message) {}
}
