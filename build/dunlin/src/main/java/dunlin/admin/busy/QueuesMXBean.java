package dunlin.admin.busy;

import dunlin.runtime.metrics.Description;
import java.util.List;

/** What waits in a node, by JMX: {@code dunlin:type=Queues,node=<id>}. */
@Description("What waits in the node")
public interface QueuesMXBean {
  /**
   * One queue, or several of the same kind together.
   *
   * @param waiting messages, commands, clients or tasks, as the name says
   * @param bytes of them; -1 when they are not counted
   * @param oldestMillis how long the oldest has waited; -1 when that is not noted
   */
  record QueueRow(String name, long waiting, long bytes, long oldestMillis) {}

  @Description("Lists the queues of the node, in the order of their names")
  List<QueueRow> getQueues();
}
