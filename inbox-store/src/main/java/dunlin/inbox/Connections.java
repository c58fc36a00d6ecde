package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.QoS;
import java.util.concurrent.CompletableFuture;

/** The live connections of the frontends, as the session tier calls them. Called from any thread; never blocks. */
public interface Connections {
  /**
   * Offers a message to the connection of a durable session. With QoS 1 or 2 the message is already stored. A
   * connection that cannot take it now, or whose event loop has too many pushes pending, {@linkplain InboxClient#fetch
   * fetches} it later; so is a message that is pushed before the answer to CONNECT was processed. Pushes arrive in
   * ascending sequence but may have gaps. With QoS 0 the message is not stored: the connection sends it or drops and
   * counts it. When this is called from a publisher's lane, the copy holds credit of that lane until the connection has
   * it.
   */
  void push(ConnectionId connection, InboxMessage message);

  /**
   * Tells a connection that more messages are stored for it than were pushed to it. It {@linkplain InboxClient#fetch
   * fetches} the ones it has not seen.
   */
  void behind(ConnectionId connection);

  /** Closes a connection with 0x8E, because another one has taken over the session [MQTT-3.1.4-3]. */
  void displaced(ConnectionId connection);

  /** Closes a connection with 0x98 because an operator asked for it. It counts as a lost connection. */
  void dismissed(ConnectionId connection);

  /**
   * Completes when all packets that came over a connection have been processed and, if it has ended, the session tier
   * has recorded that; at once for an unknown connection. Fails when the frontend cannot be asked. A client that has moved to another connection is not read from before that.
   */
  CompletableFuture<Void> settled(ConnectionId connection);

  /**
   * A message of a durable session.
   *
   * @param sequence position in the inbox, ascending from 1; 0 with QoS 0
   * @param qos the QoS to send with: the lower of the message's and the subscription's
   * @param retain the RETAIN flag to send with
   * @param released whether the client's PUBREC was recorded, so that only PUBREL is owed [MQTT-4.3.3-6]
   * @param delivered whether it may have been sent before, so that DUP must be set
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
