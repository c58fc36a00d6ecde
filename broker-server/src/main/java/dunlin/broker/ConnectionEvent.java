package dunlin.broker;

import java.net.SocketAddress;
import java.time.Instant;

/** An event of a client's connection. */
public sealed interface ConnectionEvent {
  /** When it happened. */
  Instant at();

  /**
   * A client was admitted and has its session.
   *
   * @param connection the connection's number, unique until the node restarts
   * @param user empty for a client without a user name
   * @param address the client's address, also behind a proxy that transmits it
   * @param version the protocol version in CONNECT: 3 for MQTT 3.1, 4 for 3.1.1, 5 for 5.0
   * @param sessionPresent whether the client has resumed a session; MQTT 5, section 3.2.2.1.1
   */
  record Connected(
      Instant at,
      long connection,
      String tenant,
      String clientId,
      String user,
      SocketAddress address,
      String listener,
      int version,
      boolean sessionPresent)
      implements ConnectionEvent {}

  /**
   * A connection that was just admitted has displaced another one of the same client. The {@link Disconnected} of that
   * one is reported as well, before or after this event; MQTT 5, section 3.1.4.
   *
   * @param from the number of the displaced connection
   */
  record TakenOver(Instant at, long connection, String tenant, String clientId, long from) implements ConnectionEvent {}

  /**
   * A connection that {@link Connected} reported has ended.
   *
   * @param reason why it ended, in a few words
   */
  record Disconnected(Instant at, long connection, String tenant, String clientId, String reason) implements ConnectionEvent {}

  /**
   * The listener has not kept up, and events were left out at this point.
   *
   * @param count the number of these events
   */
  record Missed(Instant at, long count) implements ConnectionEvent {}
}
