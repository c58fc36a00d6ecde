package dunlin.tiers;

import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.link.Link;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The links by which lanes come to one leader, of the routes or of the sessions, and how they end with its leadership. */
final class LedLanes {
  /*
   * The senders send again, to the next leader, what this one leaves unanswered. For QoS 0, and for QoS 2 of publishers without a session, that is only what it has
   * surely not delivered. So at the end it delivers nothing more, returns what comes, and waits for the answers to what it has delivered.
   *
   * Owner: any thread.
   * Bounds: the streams of open links.
   * Failure: what is not answered in time is left open.
   */
  private final ScheduledExecutorService timer;
  private final long drainMillis;
  private final Set<ReceivingStream> open = ConcurrentHashMap.newKeySet();

  LedLanes(ScheduledExecutorService timer, long drainMillis) {
    this.timer = timer;
    this.drainMillis = drainMillis;
  }

  /** Begins with one link of a lane, on the lane's thread. */
  Link.Handler open(Link link, Executor thread, ReceivingStream.Receiver receiver) {
    var stream = new ReceivingStream(link, thread, receiver, task -> afterDrain(thread, task));
    open.add(stream);
    stream.over().thenRun(() -> open.remove(stream));
    return stream;
  }

  private void afterDrain(Executor thread, Runnable task) {
    try {
      var _ = timer.schedule(() -> thread.execute(task), drainMillis, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException stopped) {
      thread.execute(task);
    }
  }

  /** Ends all links and waits until they have ended, for the time that they have at most. */
  void drain() {
    var ended = open.stream().map(ReceivingStream::end).toArray(CompletableFuture[]::new);
    CompletableFuture.allOf(ended).completeOnTimeout(null, drainMillis, TimeUnit.MILLISECONDS).join();
  }
}
