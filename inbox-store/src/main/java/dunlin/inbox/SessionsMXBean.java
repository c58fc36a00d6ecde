package dunlin.inbox;

import dunlin.runtime.metrics.Description;
import java.util.List;

/**
 * The sessions as operators see and change them by JMX: {@code dunlin:type=Sessions,node=<id>}. What cannot be done is
 * refused with the reason.
 */
@Description("The sessions of this node's clients: those of connected clients, and durable sessions without a connection")
public interface SessionsMXBean {
  /**
   * @param user the user who created it; empty for a client without a user name
   * @param expirySeconds how long it outlives its connection; 0 if it ends with the connection, 4294967295 if it never
   *     expires
   * @param messages messages in its inbox that wait or are not acknowledged
   * @param bytes of these messages
   */
  record SessionRow(String clientId, String user, boolean connected, long expirySeconds, int subscriptions, int messages, long bytes) {}

  @Description("Number of sessions of all tenants, with and without a connection")
  int getSessions();

  @Description("Lists sessions whose client identifiers begin with a prefix, in the order of the client identifiers")
  List<SessionRow> list(
      @Description("Tenant of the clients: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the client identifiers; empty for all") String prefix,
      @Description("The last client identifier of the previous page; empty for the first page") String after,
      @Description("Maximum number of sessions in the answer: 1 to 1000") int max);

  @Description("Disconnects a client with 0x98. Its session stays until it expires, and its will is published. Answers whether the client was connected")
  boolean disconnect(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);

  @Description(
      "Deletes sessions whose client identifiers begin with a prefix, with their subscriptions and messages. Connected clients are disconnected with 0x98,"
          + " and wills are published. Answers how many were deleted: the maximum, or all of them")
  int delete(
      @Description("Tenant of the clients") String tenant,
      @Description("Prefix of the client identifiers; empty for all") String prefix,
      @Description("Maximum number of sessions to delete: 1 to 1000000") int max);

  @Description("Deletes the session of one client, as delete does. Answers whether there was one")
  boolean deleteOne(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);
}
