package dunlin.broker;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/** The lanes of this node's event loops, by JMX: {@code dunlin:type=Lanes,node=<id>}. */
@Description("The lanes of the node, each of which takes the messages of one event loop's clients to the routes")
public interface LanesMXBean {
  /**
   * A lane.
   *
   * @param lane its number, which is that of its event loop, from 0
   * @param perSecond messages that have come in for it a second: PUBLISH packets, wills and messages of the application
   * @param messages that hold credit, since they are being delivered
   * @param bytes of these messages
   * @param heldConnections connections that are not read from until the lane has credit
   * @param oldestMillis time since the oldest publish of QoS 1 or 2 of a connected client was accepted that is not acknowledged; 0 without any
   */
  record LaneRow(String node, int lane, long perSecond, int messages, long bytes, int heldConnections, long oldestMillis) {}

  @Description("Lists the lanes of the node, those with most of something first, also those with none of it. For the rate it reads twice, half a second apart")
  List<LaneRow> top(@Description("What they are compared by") LaneFigure by, @Description("Maximum number of lanes in the answer: 1 to 100") @Unit("lanes") int max);
}
