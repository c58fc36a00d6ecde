package dunlin.broker.auth;

import io.netty.util.concurrent.EventExecutor;

/** The event loop of a connection that asks an authenticator; answers and deadlines come to it. */
public interface AskingLoop {
  /** Its thread, for deadlines. */
  EventExecutor executor();

  /** Runs something on it soon. Any thread; the posts of one thread keep their order. */
  void post(Runnable task);
}
