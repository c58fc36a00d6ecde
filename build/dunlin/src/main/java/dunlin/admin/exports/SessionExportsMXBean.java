package dunlin.admin.exports;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Exports and imports durable sessions by JMX, on the node that leads them: {@code dunlin:type=SessionExports,node=<id>}. Failures are reported with the reason.
 *
 * <p>Times are durations, since the clock of the broker that imports may be another one.
 */
@Description("Exports and imports durable sessions")
public interface SessionExportsMXBean {
  /** The format that the first line of an export names. */
  String FORMAT = "dunlin-sessions";

  /** Its version. Lines with a member that is not known are refused, so a change of the lines gets another number. */
  int VERSION = 1;

  /**
   * The first line of a session.
   *
   * @param user who created it; empty for a client without a user name
   * @param received packet identifiers of QoS 2 messages that the client has published and has not released
   */
  record SessionBegin(String clientId, String user, List<Integer> received) {
    public SessionBegin {
      received = List.copyOf(received);
    }
  }

  /**
   * A message in the inbox of a session.
   *
   * @param sequence its place in the inbox, from which its packet identifier follows
   * @param qos with which it is sent, 1 or 2
   * @param retain the RETAIN flag with which it is sent
   * @param released whether the client has sent PUBREC, so that only PUBREL is owed
   * @param sent whether it may have been sent
   * @param identifiers Subscription Identifiers with which it is sent
   * @param publisher client identifier of its publisher; empty for the node itself and the application that embeds it
   * @param ageSeconds since the broker has accepted it; its Message Expiry Interval counts from then
   * @param properties in Base64: its properties as in a PUBLISH packet of MQTT 5, without their length
   * @param payload in Base64, all of it
   */
  record SessionMessage(
      String clientId, long sequence, String topic, int qos, boolean retain, boolean released, boolean sent, List<Integer> identifiers, String publisher, long ageSeconds,
      String properties, String payload) {
    public SessionMessage {
      identifiers = List.copyOf(identifiers);
    }
  }

  /**
   * A subscription of a session.
   *
   * @param filter with $share or $oshare and the name of the group, if it is shared
   * @param retainHandling when retained messages are sent: 0 always, 1 for a new subscription only, 2 never
   * @param identifier Subscription Identifier; 0 for none
   */
  record SessionSubscription(String clientId, String filter, int qos, boolean noLocal, boolean retainAsPublished, int retainHandling, int identifier) {}

  /**
   * The last line of a session. A session without one is not imported.
   *
   * @param expirySeconds how long it lives from then on without a connection, 1 to 4294967294; 4294967295 for ever
   */
  record SessionEnd(String clientId, long expirySeconds) {}

  /**
   * A message that waits for any member of a shared subscription.
   *
   * @param filter with $share or $oshare and the name of the group
   * @param qos with which it was published, 1 or 2
   */
  record GroupMessage(String filter, String topic, int qos, boolean retain, String publisher, long ageSeconds, String properties, String payload) {}

  /** A line of an export: one of these. The lines of a session follow one another: its first line, messages, subscriptions, its last line. */
  record SessionLine(
      @Nullable SessionBegin session, @Nullable SessionMessage message, @Nullable SessionSubscription subscription, @Nullable SessionEnd end,
      @Nullable GroupMessage groupMessage) {}

  /** @param next where the next page begins; empty on the last one. A page may have no lines and a next one */
  record SessionPage(List<SessionLine> lines, String next) {
    public SessionPage {
      lines = List.copyOf(lines);
    }
  }

  /**
   * What became of the lines of an import.
   *
   * @param sessions those whose last line was among these, and which are there now
   * @param existing those that were there before, and are as they were
   * @param unfinished those without their last line that another one has followed; they are not there
   * @param messages those that are in inboxes now
   * @param expired messages whose Message Expiry Interval has passed
   * @param refused how many sessions and messages were refused, by reason
   * @param sentences why lines were refused that no client could have here, for the first ones; none of a node of an earlier version
   */
  record ImportedSessions(int sessions, int existing, int unfinished, int messages, int expired, Map<String, Integer> refused, @Nullable List<String> sentences) {
    public ImportedSessions {
      refused = Map.copyOf(refused);
      sentences = sentences == null ? List.of() : List.copyOf(sentences);
    }
  }

  @Description("Exports a page of the durable sessions, as they are stored, and what waits in shared subscriptions behind them. A page ends as well when it has more than 512 KiB")
  SessionPage exportSessions(
      @Description("Tenant of the clients: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the client identifiers; empty for all. With one, what waits in shared subscriptions is left out") String prefix,
      @Description("Where the page begins: next of the page before; empty for the first page") String cursor,
      @Description("Maximum number of lines in the answer: 1 to 500") @Unit("lines") int max);

  @Description(
      "Imports sessions from lines of JSON, the first of which names the format. A session that is there is left as it is. When a line is wrong, nothing of them is"
          + " imported. The lines of a session may come in several calls")
  ImportedSessions importSessions(
      @Description("Tenant of the clients") String tenant,
      @Description(value = "Lines of an export, with its first line", concealed = true) String lines,
      @Description("The number in its file of the second of these lines, for the sentence about a wrong one") long firstLine);
}
