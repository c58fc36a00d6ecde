package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The messages of QoS 0 that the streams of one hop have not brought to the other side, by reason. The call that counts a message notes it in the traces that
 * follow it. Any thread.
 */
public final class UnacknowledgedDrops {
  private static final String OVERLOADED = "overloaded";
  private static final String UNREACHABLE = "unreachable";

  private final String hop;
  private final Tracer tracer;
  private final LongAdder overloaded = new LongAdder();
  private final LongAdder unreachable = new LongAdder();

  /**
   * @param hop as the counters of drops name it
   * @param tracer has the traces of this node
   */
  public UnacknowledgedDrops(String hop, Tracer tracer) {
    this.hop = hop;
    this.tracer = tracer;
  }

  /** Counts what no operator looks at. */
  public static UnacknowledgedDrops unwatched() {
    return new UnacknowledgedDrops("", Tracer.idle());
  }

  /**
   * What to keep of a message on its way, to note it if it is lost.
   *
   * @return the message if a trace follows it, otherwise null
   */
  public @Nullable Publication followed(Publication message) {
    return tracer.follows(message, null) ? message : null;
  }

  /** A message was dropped because the other side takes messages more slowly than they come. */
  public void countOverloaded(Publication message) {
    overloaded.increment();
    note(OVERLOADED, message);
  }

  /**
   * A message was on its way when its link was lost, or there was no link for it.
   *
   * @param message null if it was not kept, because no trace {@linkplain #followed followed} it
   */
  public void countUnreachable(@Nullable Publication message) {
    unreachable.increment();
    note(UNREACHABLE, message);
  }

  private void note(String reason, @Nullable Publication message) {
    if (message != null && tracer.runs()) tracer.note(hop, Step.DROPPED, reason, message, null);
  }

  /** Messages that were dropped because the other side takes them more slowly than they come. */
  public long overloaded() {
    return overloaded.sum();
  }

  /** Messages that were on their way when their link was lost, or that no link was there for. Some may have arrived. */
  public long unreachable() {
    return unreachable.sum();
  }
}
