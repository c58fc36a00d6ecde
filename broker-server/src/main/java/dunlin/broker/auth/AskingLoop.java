package dunlin.broker.auth;

import io.netty.util.concurrent.EventExecutor;

/** The event loop of a connection that asks an authenticator. Answers and deadlines run on it. */
public interface AskingLoop {
  /** The loop's executor, for deadlines. */
  EventExecutor executor();

  /** Runs a task on the loop soon. Any thread; tasks of one thread keep their order. */
  void post(Runnable task);
}
