package dunlin.admin.exports;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/** Exports and imports retained messages of the whole cluster by JMX: {@code dunlin:type=Exports,node=<id>}. Failures are reported with the reason. */
@Description("Exports and imports retained messages")
public interface ExportsMXBean {
  /** The format that the first line of an export names. */
  String FORMAT = "dunlin-retained";

  /** Its version. Lines with a member that is not known are refused, so a change of the lines gets another number. */
  int VERSION = 1;

  /** The most characters of the lines of one import, of sessions too: a message of the largest packet has room. */
  int LINES_MAX = 3 * 1_024 * 1_024;

  /** What an import does with the messages that topics have. */
  List<String> EXISTING = List.of("keep", "replace");

  /**
   * A retained message, as a line of an export has it.
   *
   * @param qos with which it was published, 0 to 2
   * @param publisher client identifier of its publisher; empty for the node itself and the application that embeds it
   * @param acceptedAt in ISO format; its Message Expiry Interval counts from then
   * @param properties in Base64: its properties as in a PUBLISH packet of MQTT 5, without their length
   * @param payload in Base64, all of it
   */
  record RetainedExport(String topic, int qos, String publisher, String acceptedAt, String properties, String payload) {}

  /** @param next where the next page begins; empty on the last one. A page may have no messages and a next one */
  record ExportPage(List<RetainedExport> messages, String next) {
    public ExportPage {
      messages = List.copyOf(messages);
    }
  }

  /**
   * What became of the lines of an import.
   *
   * @param imported messages that their topics have now
   * @param kept lines whose topics had a message that was to be kept
   * @param expired lines whose Message Expiry Interval has passed
   */
  record Imported(int imported, int kept, int expired) {}

  @Description("Exports a page of the retained messages that a topic filter matches. A page ends as well when its messages have more than 512 KiB")
  ExportPage exportRetained(
      @Description("Tenant of their publishers: default, unless an authenticator assigns another one") String tenant,
      @Description("Topic filter, without a shared subscription; # matches no topics that begin with $") String filter,
      @Description("Where the page begins: next of the page before; empty for the first page") String cursor,
      @Description("Maximum number of messages in the answer: 1 to 500") @Unit("messages") int max);

  @Description(
      "Imports retained messages from lines of JSON, the first of which names the format. When a line is wrong, nothing of them is imported. No message is published"
          + " to subscribers")
  Imported importRetained(
      @Description("Tenant of their publishers") String tenant,
      @Description("What becomes of the message that a topic has: keep or replace") String existing,
      @Description(value = "Lines of an export, with its first line", concealed = true) String lines,
      @Description("The number in its file of the second of these lines, for the sentence about a wrong one") long firstLine);
}
