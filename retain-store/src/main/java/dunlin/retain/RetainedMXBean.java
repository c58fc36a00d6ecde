package dunlin.retain;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** What operators see of retained messages and do to them by JMX: {@code dunlin:type=Retained,node=<id>}. What cannot be done is refused with the reason. */
@Description("The retained messages")
public interface RetainedMXBean {
  /** @param bytes of the message as it is stored, with its properties; 0 for one that was removed since */
  record RetainedRow(String topic, int bytes) {}

  @Description("Topics of all tenants that have a retained message")
  long getTopics();

  @Description("Lists retained messages whose topics begin with a prefix, in the order of the store: a topic before those below it")
  List<RetainedRow> list(
      @Description("Tenant of their publishers: default, unless an authenticator has said otherwise") String tenant,
      @Description("What the topics begin with; empty for all") String prefix,
      @Description("The last topic of the page before; empty for the first page") String after,
      @Description("How many are listed at most: 1 to 1000") int max);

  @Description("Deletes retained messages whose topics begin with a prefix. Answers how many were deleted: as many as were to be, or all that there were")
  int delete(
      @Description("Tenant of their publishers") String tenant,
      @Description("What the topics begin with; empty for all") String prefix,
      @Description("How many are deleted at most: 1 to 1000000") int max);
}
