package dunlin.load.count;

import java.util.concurrent.atomic.AtomicInteger;

/** The messages that the members of a shared group in this process have received. Members on several event loops add them. */
public abstract sealed class GroupBook permits SharedBook, SplitBook {
  private final AtomicInteger since = new AtomicInteger(Integer.MAX_VALUE);

  /** Records a member's subscription; the group must receive all messages from a step on. */
  public final void join(int step) {
    since.accumulateAndGet(step, Math::min);
  }

  /** The first step whose messages the group must receive. */
  public final int since() {
    return since.get();
  }

  public abstract Arrival receive(long key, long sequence);
}
