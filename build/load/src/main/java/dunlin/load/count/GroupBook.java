package dunlin.load.count;

import java.util.concurrent.atomic.AtomicInteger;

/** What the members of a shared group have got in this process. Members on several event loops enter what they get. */
public abstract sealed class GroupBook permits SharedBook, SplitBook {
  private final AtomicInteger since = new AtomicInteger(Integer.MAX_VALUE);

  /** Says that a member has subscribed; the group must get what is sent from a step on. */
  public final void join(int step) {
    since.accumulateAndGet(step, Math::min);
  }

  /** The first step whose messages the group must get. */
  public final int since() {
    return since.get();
  }

  public abstract Arrival receive(long key, long sequence);
}
