package dunlin.admin.peers;

import dunlin.admin.peers.NodeTracesMXBean.NodeLines;
import dunlin.admin.peers.NodeTracesMXBean.NodeTrace;
import dunlin.admin.peers.PeerBeans.Gathered;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.function.Function;

/** Begins a trace on all nodes, and puts together what they say. */
public final class AllTraces implements TracesMXBean {
  /*
   * Owner: any thread that may block; keeps nothing.
   * Bounds: each node answers with its first lines behind the position, and the first of all these are the part.
   * Failure: a node that does not answer is named. A trace that has begun on some nodes goes on there. A node that joins the cluster or starts again while a
   * trace runs does not have it, and is named when it is read.
   */
  private static final int ID_LENGTH = 8;

  private final PeerBeans peers;

  private AllTraces(PeerBeans peers) {
    this.peers = peers;
  }

  /** Registers the beans for the traces of this node and for those of all nodes. */
  public static void show(NodeBeans beans, PeerBeans peers, Tracer tracer, MeterRegistry meters) {
    beans.register("NodeTraces", new NodeTraces(peers.node(), tracer, meters));
    beans.register("Traces", new AllTraces(peers));
  }

  private <R> Gathered<R> ask(Function<NodeTracesMXBean, R> question) {
    return peers.ofPresent(NodeTracesMXBean.class, question);
  }

  @Override
  public TraceStarted start(String tenant, String client, String topic, String address, int minutes) {
    String id = UUID.randomUUID().toString().substring(0, ID_LENGTH);
    Gathered<NodeTrace> begun = ask(bean -> bean.begin(id, tenant, client, topic, address, minutes));
    long ends = begun.answers().values().stream().mapToLong(NodeTrace::endsAtMillis).max().orElse(0);
    return new TraceStarted(id, text(ends), begun.answers().size(), begun.unanswered());
  }

  @Override
  public boolean stop(String trace) {
    Gathered<Boolean> ended = ask(bean -> bean.end(trace));
    boolean any = ended.answers().containsValue(true);
    if (!any && !ended.unanswered().isEmpty()) throw missing(ended);
    return any;
  }

  private static RuntimeException missing(Gathered<?> from) {
    return PeerBeans.unanswered("no node that has answered has this trace; " + String.join("; ", from.unanswered()));
  }

  @Override
  public TraceList list() {
    Gathered<List<NodeTrace>> listed = ask(NodeTracesMXBean::list);
    Map<String, TraceRow> rows = new LinkedHashMap<>();
    for (List<NodeTrace> ofNode : listed.answers().values()) for (NodeTrace each : ofNode) rows.merge(each.trace(), row(each), AllTraces::both);
    return new TraceList(List.copyOf(rows.values()), listed.unanswered());
  }

  private static TraceRow row(NodeTrace of) {
    return new TraceRow(
        of.trace(), of.tenant(), of.client(), of.topic(), of.address(), text(of.begunAtMillis()), text(of.endsAtMillis()), of.running(), 1, of.lines(),
        of.leftOut());
  }

  private static TraceRow both(TraceRow one, TraceRow other) {
    return new TraceRow(
        one.trace(), one.tenant(), one.client(), one.topic(), one.address(), one.begun(), one.ends(), one.running() || other.running(),
        one.nodes() + other.nodes(), one.lines() + other.lines(), one.leftOut() + other.leftOut());
  }

  private static String text(long millis) {
    return Instant.ofEpochMilli(millis).toString();
  }

  /**
   * A line in the order of times.
   *
   * @param order never earlier than that of the line before on the same node, so that what is read of a node is what comes first there
   */
  private record Placed(String node, long order, Event event) {
    TraceLine line() {
      return new TraceLine(
          Instant.EPOCH.plus(event.atMicros(), ChronoUnit.MICROS).toString(), node, event.hop(), event.step(), event.reason(), event.topic(), event.publisher(), event.client(), event.qos(), event.retain(),
          event.payloadBytes());
    }
  }

  @Override
  public TracePart read(String trace, String position, int max) {
    Map<String, Long> next = new HashMap<>(TracePosition.of(position).next());
    Gathered<NodeLines> gathered = ask(bean -> bean.read(trace, position, max));
    List<String> missing = new ArrayList<>(gathered.unanswered());
    List<Placed> all = new ArrayList<>();
    boolean known = false;
    boolean running = false;
    long lost = 0;
    long leftOut = 0;
    for (Map.Entry<String, NodeLines> each : gathered.answers().entrySet()) {
      NodeLines of = each.getValue();
      if (!of.known()) {
        missing.add(peers.named(each.getKey()) + " does not have the trace: it has joined the cluster or started since the trace began");
        continue;
      }
      known = true;
      running |= of.running();
      lost += of.lost();
      leftOut += of.leftOut();
      next.put(each.getKey(), of.next() - of.events().size());
      long order = 0;
      for (Event event : of.events()) {
        order = Math.max(order, event.atMicros());
        all.add(new Placed(each.getKey(), order, event));
      }
    }
    if (!known && !gathered.unanswered().isEmpty()) throw missing(gathered);
    if (!known) throw new NoSuchElementException("there is no such trace, or it ended long ago");
    all.sort(Comparator.comparingLong(Placed::order));
    List<Placed> part = all.subList(0, Math.min(max, all.size()));
    for (Placed each : part) next.merge(each.node(), 1L, Long::sum);
    return new TracePart(part.stream().map(Placed::line).toList(), new TracePosition(next).text(), running, lost, leftOut, missing);
  }
}
