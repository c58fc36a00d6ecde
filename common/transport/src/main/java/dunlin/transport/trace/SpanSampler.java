package dunlin.transport.trace;

import dunlin.model.Publication;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace.Step;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Takes what the hops of this node do with some messages, to be sent elsewhere as spans: with those whose publishers sample them, and with one in a number of the
 * others, the same ones on each node.
 */
public final class SpanSampler implements Follower {
  /*
   * Owner: any thread notes, mostly event loops; one thread takes.
   * Bounds: perSecond steps in each second, and WAITING_MAX that are not taken yet. Full: a step is left out before anything is made of it, and counted.
   */
  static final int WAITING_MAX = 16_384;

  private final int oneIn;
  private final SecondLimit limit;
  private final InstantSource wall;
  private final ArrayBlockingQueue<SpanStep> waiting = new ArrayBlockingQueue<>(WAITING_MAX);
  private final LongAdder leftOut = new LongAdder();

  /**
   * A step of a message as a span.
   *
   * @param traceId 32 hexadecimal digits
   * @param spanId 16 hexadecimal digits: of the message's way through the broker
   * @param parentId of the publisher's span; empty for none
   * @param acceptedAtMillis when the broker accepted the message
   */
  public record SpanStep(String traceId, String spanId, String parentId, long acceptedAtMillis, Event event) {}

  /**
   * @param oneIn of how many messages that name no trace one is followed; 0 for none
   * @param perSecond the most steps that are taken in a second, from 1
   * @param wall the clock that steps are stamped with
   */
  public SpanSampler(int oneIn, int perSecond, InstantSource wall) {
    if (oneIn < 0) throw new IllegalArgumentException("one in " + oneIn);
    this.oneIn = oneIn;
    this.limit = new SecondLimit(perSecond);
    this.wall = wall;
  }

  @Override
  public boolean concerns(Publication message) {
    TraceContext said = TraceContext.said(message);
    if (said != null) return said.sampled();
    return oneIn > 0 && Long.remainderUnsigned(TraceContext.hash(message), oneIn) == 0;
  }

  @Override
  public boolean meets(Publication message, @Nullable Party party) {
    return true;
  }

  @Override
  public void add(String hop, Step step, String reason, Publication message, String client) {
    Instant now = wall.instant();
    if (!limit.admits(now.getEpochSecond()) || waiting.remainingCapacity() == 0) {
      leftOut.increment();
      return;
    }
    TraceContext said = TraceContext.said(message);
    TraceContext context = said == null ? TraceContext.derived(message) : said;
    Event event = Event.of(ChronoUnit.MICROS.between(Instant.EPOCH, now), hop, step, reason, message, client);
    boolean taken =
        waiting.offer(
            new SpanStep(
                "%016x%016x".formatted(context.high(), context.low()), "%016x".formatted(context.span()),
                context.parent() == 0 ? "" : "%016x".formatted(context.parent()), message.acceptedAtMillis(), event));
    if (!taken) leftOut.increment();
  }

  /** Takes steps that wait, the first ones first. */
  public List<SpanStep> take(int max) {
    List<SpanStep> taken = new ArrayList<>();
    waiting.drainTo(taken, max);
    return taken;
  }

  /** Steps that wait; any thread. */
  public int waiting() {
    return waiting.size();
  }

  /** How many steps were left out since the start because there were too many. */
  public long leftOut() {
    return leftOut.sum();
  }
}
