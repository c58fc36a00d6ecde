package dunlin.inbox;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** What operators see of sessions and do to them by JMX: {@code dunlin:type=Sessions,node=<id>}. What cannot be done is refused with the reason. */
@Description("The sessions of this node's clients: of those that are connected, and of those that come back for theirs")
public interface SessionsMXBean {
  /**
   * @param user who made it; empty for a client without a user name
   * @param expirySeconds how long it stays behind its connection; 0 when it ends with that, 4294967295 for ever
   * @param messages that wait for it, or that it has not acknowledged, in its inbox
   * @param bytes of these messages
   */
  record SessionRow(String clientId, String user, boolean connected, long expirySeconds, int subscriptions, int messages, long bytes) {}

  @Description("Sessions of all tenants, those of connected clients among them")
  int getSessions();

  @Description("Lists sessions whose client identifiers begin with a prefix, in the order of these")
  List<SessionRow> list(
      @Description("Tenant of the clients: default, unless an authenticator has said otherwise") String tenant,
      @Description("What the client identifiers begin with; empty for all") String prefix,
      @Description("The last client identifier of the page before; empty for the first page") String after,
      @Description("How many are listed at most: 1 to 1000") int max);

  @Description("Disconnects a client with 0x98; its session stays as long as it was to stay, and its will is published. Answers whether it was connected")
  boolean disconnect(@Description("Tenant of the client") String tenant, @Description("Its client identifier") String clientId);

  @Description(
      "Deletes sessions whose client identifiers begin with a prefix, with their subscriptions and messages; clients that are connected are disconnected with 0x98,"
          + " wills are published. Answers how many were deleted: as many as were to be, or all that there were")
  int delete(
      @Description("Tenant of the clients") String tenant,
      @Description("What the client identifiers begin with; empty for all") String prefix,
      @Description("How many are deleted at most: 1 to 1000000") int max);
}
