package dunlin.admin.api;

import java.util.List;
import java.util.Map;

/** What endpoints answer that no MXBean has a record for. Their components are the members of the JSON objects. */
public final class ApiAnswers {
  private ApiAnswers() {}

  /**
   * @param role of the token that asked
   * @param health {@code alive}, or why the process should be restarted
   * @param readiness {@code ready}, or why no clients should be sent to it
   * @param sessions of the cluster or of this node; -1 when another node leads them
   * @param retained topics with a retained message; -1 when another node leads them
   */
  public record Status(
      String node, String version, String role, long uptimeSeconds, boolean healthy, String health, boolean ready, String readiness, int connections,
      boolean draining, int sessions, long retained, long heapUsedBytes, long heapMaxBytes) {}

  /**
   * How a node is, and how much it did since the event before. Rates are per second; times are those of the last minute.
   *
   * @param intervalMillis since the event before; 0 in the first one, which has no rates
   * @param publishesIn PUBLISH packets that clients sent, a second
   * @param publishesOut PUBLISH packets that were written to clients, a second
   * @param bytesIn bytes of MQTT that clients sent, a second
   * @param bytesOut bytes of MQTT that were written to clients, a second
   * @param dropped messages since the start, by hop and reason, such as {@code session queue-full}; without those of which there are none
   * @param acknowledge from PUBLISH to PUBACK or PUBREC
   * @param delivery from PUBLISH until it is written for a subscriber
   */
  public record Overview(
      Status status, long intervalMillis, double publishesIn, double publishesOut, double bytesIn, double bytesOut, Map<String, Long> dropped,
      Times acknowledge, Times delivery) {
    public Overview {
      dropped = Map.copyOf(dropped);
    }
  }

  /**
   * Times of the last minute, or of as much of it as there were events for. Each is the upper bound of a bucket of the histogram.
   *
   * @param count how many were measured; without any, the others are 0
   * @param p50AtMostMillis half of them took no longer; -1 when that is more than a minute
   * @param p99AtMostMillis 99 of 100 took no longer; -1 when that is more than a minute
   */
  public record Times(long count, long p50AtMostMillis, long p99AtMostMillis) {}

  /**
   * A message that was published to a watched topic.
   *
   * @param skipped matching messages before this one that were not sent because there were too many
   * @param clientId of its publisher; empty for the node itself and the application that embeds it
   * @param payload in Base64, at most its first 4,096 bytes
   * @param payloadBytes of the whole payload
   */
  public record SeenMessage(long skipped, long acceptedAtMillis, String topic, String clientId, int qos, boolean retain, int payloadBytes, String payload) {}

  /**
   * Who signs in with a name and a password.
   *
   * @param role viewer, operator or admin
   */
  public record OperatorRow(String name, String role) {}

  /** @param source default, or what has set it; secrets are masked */
  public record SettingRow(String key, String value, String source) {}

  /**
   * @param level the level that was set for it; empty when it has that of its parent
   * @param effective the level that it has
   */
  public record LoggerRow(String name, String level, String effective) {}

  /**
   * @param refused connections that were closed before MQTT began, by reason
   * @param certificateExpiry in ISO format; empty without TLS
   */
  public record ListenerRow(String name, String type, String address, boolean accepting, int connections, Map<String, Long> refused, String certificateExpiry) {
    public ListenerRow {
      refused = Map.copyOf(refused);
    }
  }

  /**
   * This node's replica of a range.
   *
   * @param leader the id of its leader, as far as this node knows; else empty
   * @param applyLag committed entries that are not applied yet
   * @param oldestMillis how long the oldest command in its log has waited to be applied; 0 without any, as on replicas that do not lead
   */
  public record ReplicaRow(
      String name, String role, String leader, long term, long committed, long applied, long applyLag, long logBytes, int queued, long oldestMillis) {}

  /**
   * @param mapVersion of the newest map of the cluster that this node has
   * @param missingRoles roles that no node of the cluster has
   */
  public record ClusterView(String node, String cluster, boolean connected, long mapVersion, int nodes, int ranges, int operations, List<String> missingRoles) {}

  /** @param reason as MQTT 5 names the reason code of PUBACK, such as {@code success} or {@code no-matching-subscribers} */
  public record Published(String reason, int code) {}

  /**
   * @param kind client, user or address
   * @param until in ISO format; empty for no end
   * @param version to be given with the next change of this ban
   */
  public record BanView(String kind, String value, String until, String reason, long version) {}

  /**
   * @param kind address or client
   * @param tenant of a client; empty for an address
   * @param until in ISO format
   */
  public record BlockView(String kind, String tenant, String value, String until, String reason) {}

  /** @param version of the row; of a deletion, that of all users, roles and bans */
  public record Changed(long version) {}

  /** How many were deleted. */
  public record Deleted(int deleted) {}

  /** An operation of the cluster that has begun; {@code cluster operations} says how far it is. */
  public record Begun(String operation) {}

  /** That something was done which has no other answer. */
  public record Done(boolean done) {
    public static final Done DONE = new Done(true);
  }
}
