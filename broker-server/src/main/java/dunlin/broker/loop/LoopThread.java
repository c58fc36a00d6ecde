package dunlin.broker.loop;

import io.netty.util.concurrent.FastThreadLocalThread;
import org.jspecify.annotations.Nullable;

/** A thread that runs one event loop and has a reference to it. */
public final class LoopThread extends FastThreadLocalThread {
  /** Set once, by this thread. */
  private @Nullable Loop loop;

  public LoopThread(Runnable task, String name) {
    super(task, name);
  }

  void carry(Loop own) {
    assert Thread.currentThread() == this : "set from outside";
    loop = own;
  }

  /** The loop that the calling thread runs, or null if it runs none. */
  public static @Nullable Loop current() {
    return Thread.currentThread() instanceof LoopThread thread ? thread.loop : null;
  }
}
