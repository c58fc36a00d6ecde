package dunlin.admin.peers;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;

/** A node as a whole, by JMX: {@code dunlin:type=Node,node=<id>}. */
@Description("The node as a whole")
public interface NodeMXBean {
  @Description("The id in its data directory")
  String getId();

  @Description("The release")
  String getVersion();

  @Description("Time since the start")
  @Unit("seconds")
  long getUptimeSeconds();

  @Description("The clock of its machine: the time since 1970")
  @Unit("milliseconds")
  long getTimeMillis();

  @Description("Why the process should be restarted; empty when it need not")
  String getUnhealthy();

  @Description("Why no clients should be sent to it; empty when they may be")
  String getUnready();

  @Description("Whether its replicas can apply what an import of sessions adds to the log; nodes of earlier versions cannot say")
  boolean isReadyForSessionImports();

  @Description("Whether its replicas can apply what limits of tenants on the bytes in inboxes add to the log; nodes of earlier versions cannot say")
  boolean isReadyForInboxLimits();

  @Description("Whether it passes on, and its replicas can apply, wills whose sending is recorded; nodes of earlier versions cannot say")
  boolean isReadyForRecordedWills();
}
