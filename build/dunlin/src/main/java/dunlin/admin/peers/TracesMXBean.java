package dunlin.admin.peers;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * Follows messages through all nodes, and says what each hop did with them, by JMX: {@code dunlin:type=Traces,node=<id>}. The other nodes of the cluster are asked,
 * and have 2 s to answer.
 */
@Description("Follows the messages of a client, a topic filter or an address through all nodes, and says what each hop did with them")
public interface TracesMXBean {
  /**
   * @param ends when it ends, in ISO format
   * @param nodes how many nodes follow messages for it
   * @param unanswered a sentence for each node that does not, because it has not answered or has refused
   */
  record TraceStarted(String trace, String ends, int nodes, List<String> unanswered) {
    public TraceStarted {
      unanswered = List.copyOf(unanswered);
    }
  }

  /**
   * A trace.
   *
   * @param client empty for any, as topic and address
   * @param begun in ISO format, as ends
   * @param nodes how many nodes have it
   * @param lines how many these have taken so far
   * @param leftOut how many these have left out because there were too many in a second
   */
  record TraceRow(
      String trace, String tenant, String client, String topic, String address, String begun, String ends, boolean running, int nodes, long lines,
      long leftOut) {}

  /** @param unanswered a sentence for each node that has not answered */
  record TraceList(List<TraceRow> traces, List<String> unanswered) {
    public TraceList {
      traces = List.copyOf(traces);
      unanswered = List.copyOf(unanswered);
    }
  }

  /**
   * What one hop did with one message.
   *
   * @param at in ISO format, by the clock of the node
   * @param node the id of the node
   * @param hop as dunlin.messages.dropped names it
   * @param reason of the step; empty for none
   * @param topic texts are cut off after 256 characters
   * @param publisher empty for the node itself and the application that embeds it
   * @param client the subscriber, at hops behind the routes; empty where there is none or it is not known
   */
  record TraceLine(
      String at, String node, String hop, String step, String reason, String topic, String publisher, String client, int qos, boolean retain,
      int payloadBytes) {}

  /**
   * A part of the lines, in the order of their times.
   *
   * @param next where the next part begins
   * @param running whether the trace runs on a node that has answered; once it does not, a part without lines is the last one
   * @param lost how many lines before these have given way to newer ones since the part before
   * @param leftOut how many were left out since the beginning because there were too many in a second
   * @param unanswered a sentence for each node whose lines are missing
   */
  record TracePart(List<TraceLine> lines, String next, boolean running, long lost, long leftOut, List<String> unanswered) {
    public TracePart {
      lines = List.copyOf(lines);
      unanswered = List.copyOf(unanswered);
    }
  }

  @Description("Begins a trace on all nodes. At least one of client, topic and address is given; messages are followed that meet all that are given")
  TraceStarted start(
      @Description("Tenant of publisher and subscribers: default, unless an authenticator assigns another one") String tenant,
      @Description("Client identifier of publisher or subscriber; empty for any") String client,
      @Description("Topic filter, not of a shared subscription; empty for any topic") String topic,
      @Description("IP address that the client's connection comes from; empty for any") String address,
      @Description("Minutes until it ends: 1 to 60") @Unit("minutes") int minutes);

  @Description("Ends a trace before its time; its lines can still be read. A node that does not answer ends it at its time. Answers whether it ran")
  boolean stop(@Description("Identifier of the trace") String trace);

  @Description("Lists the traces that run, and those that have ended and can still be read")
  TraceList list();

  @Description("Reads lines of a trace from all nodes, in the order of their times")
  TracePart read(
      @Description("Identifier of the trace") String trace,
      @Description("Where they begin: next of the part before; empty for the first part") String position,
      @Description("Maximum number of lines in the answer: 1 to 1000") @Unit("lines") int max);
}
