package dunlin.transport.lane;

import java.util.concurrent.atomic.LongAdder;

/** The messages of QoS 0 that the streams of one hop have not brought to the other side, by reason. Any thread. */
public final class UnacknowledgedDrops {
  private final LongAdder overloaded = new LongAdder();
  private final LongAdder unreachable = new LongAdder();

  /** A message was dropped because the other side takes messages more slowly than they come. */
  public void countOverloaded() {
    overloaded.increment();
  }

  /** A message was on its way when its link was lost, or there was no link for it. */
  public void countUnreachable() {
    unreachable.increment();
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
