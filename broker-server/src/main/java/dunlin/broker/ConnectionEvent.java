package dunlin.broker;

import java.net.SocketAddress;
import java.time.Instant;

/** What happens to a client's connection. */
public sealed interface ConnectionEvent {
  /** When it happened. */
  Instant at();

  /**
   * A client has been let in and has its session.
   *
   * @param connection the connection's number, unique in the life of the node
   * @param user empty for one without a user name
   * @param address the client's own, also behind a proxy that says it
   * @param version of the protocol as CONNECT says it: 3 for MQTT 3.1, 4 for 3.1.1, 5
   * @param sessionPresent whether it has resumed a session; MQTT 5, section 3.2.2.1.1
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
   * The connection that has just been let in has displaced another one of the same client, whose {@link Disconnected} comes too, before or after; MQTT 5, section 3.1.4.
   *
   * @param from the number of the displaced connection
   */
  record TakenOver(Instant at, long connection, String tenant, String clientId, long from) implements ConnectionEvent {}

  /**
   * A connection of which {@link Connected} has told has ended.
   *
   * @param reason in a few words, what ended it
   */
  record Disconnected(Instant at, long connection, String tenant, String clientId, String reason) implements ConnectionEvent {}

  /**
   * The listener has not kept up: here it has not been told of some events.
   *
   * @param count how many
   */
  record Missed(Instant at, long count) implements ConnectionEvent {}
}
