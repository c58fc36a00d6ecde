package dunlin.retain;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/** Lists and deletes retained messages by JMX: {@code dunlin:type=RetainedMessages,node=<id>}. Failures are reported with the reason. */
@Description("The retained messages")
public interface RetainedMessagesMXBean {
  /** @param bytes of the stored message with its properties; 0 for one that has been removed since */
  record RetainedRow(String topic, int bytes) {}

  /**
   * @param payload in Base64, at most its first 65,536 bytes
   * @param payloadBytes of the whole payload
   * @param qos with which it was published, 0 to 2
   */
  record RetainedMessage(String topic, int qos, int payloadBytes, String payload) {}

  /**
   * What a message to be retained would meet.
   *
   * @param present whether its topic has a message, which it would replace
   * @param topics with a retained message, of all tenants
   * @param topicBytes of their names
   * @param bytes of topics and messages on disk
   * @param diskLow whether the disk of this node is nearly full, so that ranges which it leads store nothing new; of others that is not known here
   */
  record RetainedOutlook(
      boolean present, long topics, long topicsMax, long topicBytes, long topicBytesMax, long bytes, long bytesMax, boolean diskLow) {}

  @Description("Topics with a retained message, of all tenants")
  @Unit("topics")
  long getTopics();

  @Description("Lists retained messages whose topics begin with a prefix, in the order of the store: a topic comes before those below it")
  List<RetainedRow> list(
      @Description("Tenant of their publishers: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the topics; empty for all") String prefix, @Description("The last topic of the previous page; empty for the first page") String after, @Description("Maximum number of topics listed: 1 to 1000") @Unit("topics") int max);

  @Description("Deletes retained messages whose topics begin with a prefix. Answers how many were deleted: the maximum, or all that there were")
  int delete(
      @Description("Tenant of their publishers") String tenant,
      @Description("Prefix of the topics; empty for all") String prefix, @Description("Maximum number of messages deleted: 1 to 1000000") @Unit("messages") int max);

  @Description("Deletes retained messages whose topics match a filter. Answers how many were deleted: the maximum, or all that there were")
  int deleteMatching(
      @Description("Tenant of their publishers") String tenant,
      @Description("Topic filter, without a shared subscription; # matches no topics that begin with $") String filter,
      @Description("Maximum number of messages deleted: 1 to 1000000") @Unit("messages") int max);

  @Description("The retained messages of one topic: none or one")
  List<RetainedMessage> get(@Description("Tenant of its publisher") String tenant, @Description("The topic name") String topic);

  @Description("What a small message with the flag RETAIN would meet: the message that its topic has, and the limits of retained messages")
  RetainedOutlook outlook(@Description("Tenant of its publisher") String tenant, @Description("The topic name") String topic);

  @Description("Deletes the retained message of one topic. Answers whether there was one")
  boolean deleteOne(@Description("Tenant of its publisher") String tenant, @Description("The topic name") String topic);
}
