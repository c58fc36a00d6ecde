package dunlin.retain;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** Lists and deletes retained messages by JMX: {@code dunlin:type=RetainedMessages,node=<id>}. Failures are reported with the reason. */
@Description("The retained messages")
public interface RetainedMessagesMXBean {
  /** @param bytes of the stored message with its properties; 0 for one that has been removed since */
  record RetainedRow(String topic, int bytes) {}

  @Description("Topics with a retained message, of all tenants")
  long getTopics();

  @Description("Lists retained messages whose topics begin with a prefix, in the order of the store: a topic comes before those below it")
  List<RetainedRow> list(
      @Description("Tenant of their publishers: default, unless an authenticator assigns another one") String tenant,
      @Description("Prefix of the topics; empty for all") String prefix, @Description("The last topic of the previous page; empty for the first page") String after, @Description("Maximum number of topics listed: 1 to 1000") int max);

  @Description("Deletes retained messages whose topics begin with a prefix. Answers how many were deleted: the maximum, or all that there were")
  int delete(
      @Description("Tenant of their publishers") String tenant,
      @Description("Prefix of the topics; empty for all") String prefix, @Description("Maximum number of messages deleted: 1 to 1000000") int max);
}
