package dunlin.admin.peers;

import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The traces on this node, for operators and other nodes. */
final class NodeTraces implements NodeTracesMXBean {
  /*
   * Owner: any thread; keeps nothing but the node's tracer, which has the bounds.
   */
  private static final int LINES_MAX = 1_000;

  private final String node;
  private final Tracer tracer;

  /** @param node the id of this node */
  NodeTraces(String node, Tracer tracer, MeterRegistry registry) {
    this.node = node;
    this.tracer = tracer;
    Gauge.builder("dunlin.admin.traces", tracer, Tracer::count).description("Traces that run").register(registry);
    FunctionCounter.builder("dunlin.admin.trace.lines", tracer, Tracer::taken).description("Lines that traces have taken").register(registry);
    FunctionCounter.builder("dunlin.admin.trace.left-out", tracer, Tracer::leftOut)
        .description("Lines that traces have left out because there were too many in a second")
        .register(registry);
  }

  @Override
  public NodeTrace begin(String trace, String tenant, String client, String topic, String address, int minutes) {
    if (!trace.matches("[a-z0-9]{1,32}")) throw new IllegalArgumentException("a trace is named by up to 32 letters and digits");
    return row(tracer.begin(trace, tenant, client, topic, address, Duration.ofMinutes(minutes)));
  }

  @Override
  public boolean end(String trace) {
    return tracer.end(trace);
  }

  @Override
  public List<NodeTrace> list() {
    return tracer.all().stream().map(NodeTraces::row).toList();
  }

  private static NodeTrace row(Trace trace) {
    return new NodeTrace(
        trace.id(), trace.tenant(), trace.client(), trace.topic(), trace.address(), trace.begunAtMillis(), trace.endsAtMillis(), trace.running(), trace.taken(),
        trace.leftOut());
  }

  @Override
  public NodeLines read(String trace, String position, int max) {
    if (max < 1 || max > LINES_MAX) throw new IllegalArgumentException("a part of a trace has 1 to %d lines, not %d".formatted(LINES_MAX, max));
    long from = TracePosition.of(position).at(node);
    Optional<Trace> found = tracer.find(trace);
    if (found.isEmpty()) return new NodeLines(false, false, List.of(), from, 0, 0);
    boolean running = found.get().running(); // before its lines: when it has ended, these are the last ones
    Trace.Part part = found.get().read(from, max);
    return new NodeLines(true, running, part.events(), part.next(), part.lost(), part.leftOut());
  }
}
