package dunlin.admin.peers;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import dunlin.transport.trace.Trace.Event;
import java.util.List;

/** The traces on this node, by JMX: {@code dunlin:type=NodeTraces,node=<id>}. Other nodes ask it; operators begin traces on all nodes by {@link TracesMXBean}. */
@Description("The traces on this node; those of the whole cluster are begun and read by the bean Traces")
public interface NodeTracesMXBean {
  /**
   * A trace on this node.
   *
   * @param lines how many it has taken so far
   * @param leftOut how many it has left out because there were too many in a second
   */
  record NodeTrace(
      String trace, String tenant, String client, String topic, String address, long begunAtMillis, long endsAtMillis, boolean running, long lines,
      long leftOut) {}

  /**
   * A part of the lines of a trace on this node.
   *
   * @param known whether the node has the trace; if not, all else is empty
   * @param next the number of the line behind them
   * @param lost how many before them have given way already
   * @param leftOut how many were left out since the beginning because there were too many in a second
   */
  record NodeLines(boolean known, boolean running, List<Event> events, long next, long lost, long leftOut) {
    public NodeLines {
      events = List.copyOf(events);
    }
  }

  @Description("Begins a trace; one with the same identifier is left as it is")
  NodeTrace begin(
      @Description("Identifier of the trace: letters and digits") String trace,
      @Description("Tenant of publisher and subscribers") String tenant,
      @Description("Client identifier of publisher or subscriber; empty for any") String client,
      @Description("Topic filter; empty for any topic") String topic,
      @Description("IP address of the client; empty for any") String address,
      @Description("Minutes until it ends: 1 to 60") @Unit("minutes") int minutes);

  @Description("Ends a trace, whose lines can still be read. Answers whether it ran here")
  boolean end(@Description("Identifier of the trace") String trace);

  @Description("Lists the traces that run, and those that have ended and can be read")
  List<NodeTrace> list();

  @Description("Reads lines of a trace")
  NodeLines read(
      @Description("Identifier of the trace") String trace,
      @Description("Where the lines begin: next of the answer of the bean Traces; empty for the first line") String position,
      @Description("Maximum number of lines in the answer: 1 to 1000") @Unit("lines") int max);
}
