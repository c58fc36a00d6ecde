package dunlin.load.client;

import dunlin.load.count.Count;
import dunlin.load.count.Series;
import java.util.List;

/** An open loop: streams send at given times, whether or not the broker keeps up. */
final class OpenFlow implements Flow {
  /*
   * Owner: the event loop. The clients of a pool take turns: client n is due at pace.nanos(n), then again at n + the
   * number of clients. So the load is even, and the times of a late message count from when it was due.
   * Bounds: DUE_OF_A_TICK_MAX; a stream's due messages that cannot be sent, by the pool's queueMax. Full: the oldest is
   * dropped and counted. When all messages are due, those of clients that do not reconnect are dropped after the
   * acknowledgement timeout.
   */
  private static final int DUE_OF_A_TICK_MAX = 20_000;

  private final Loop loop;
  private final List<Stream> streams;
  private final Pace pace;
  private final int clients;
  private final long messages;
  private final long startNanos;
  private final long lastingNanos;

  private long next;
  private long backlog;
  private long backlogBefore = -1;
  private long progressNanos;
  private boolean allDue;

  /** @param messages of all loops together; 0 for no limit */
  OpenFlow(Loop loop, List<Stream> streams, Pace pace, int clients, long messages, long startNanos, long lastingNanos) {
    this.loop = loop;
    this.streams = streams;
    this.pace = pace;
    this.clients = clients;
    this.messages = messages == 0 ? Long.MAX_VALUE : messages;
    this.startNanos = startNanos;
    this.lastingNanos = lastingNanos;
    for (Stream stream : streams) stream.follow(this);
  }

  private long nanos(Stream stream, long turn) {
    return pace.nanos(turn * clients + stream.client().number());
  }

  @Override
  public boolean advance(long nowNanos) {
    if (streams.isEmpty()) return true;
    long elapsed = nowNanos - startNanos;
    for (int i = 0; i < DUE_OF_A_TICK_MAX && !allDue; i++) {
      Stream stream = streams.get((int) (next % streams.size()));
      long turn = next / streams.size();
      long at = nanos(stream, turn);
      // Numbers and times ascend, so the first one beyond the end ends the flow.
      if (at >= lastingNanos || turn * clients + stream.client().number() >= messages) {
        allDue = true;
        break;
      }
      if (at > elapsed) break;
      next++;
      stream.due++;
      backlog++;
      pump(stream);
    }
    return allDue && (backlog == 0 || isStuck(nowNanos));
  }

  private boolean isStuck(long nowNanos) {
    if (backlog != backlogBefore) {
      backlogBefore = backlog;
      progressNanos = nowNanos;
    }
    return nowNanos - progressNanos > loop.ackTimeoutNanos();
  }

  @Override
  public long waitNanos(long nowNanos) {
    if (allDue) return Loop.TICK_NANOS;
    return startNanos + nanos(streams.get((int) (next % streams.size())), next / streams.size()) - nowNanos;
  }

  @Override
  public void pump(Stream stream) {
    LoadClient client = stream.client();
    while (stream.handled < stream.due && client.canSend(stream)) {
      long intended = startNanos + nanos(stream, stream.handled);
      long now = System.nanoTime();
      loop.meters().time(Series.SEND_LAG, (now - intended) / 1_000);
      client.publish(stream, loop.context().clock().microsOf(intended), now);
      stream.handled++;
      backlog--;
    }
    drop(stream, client.pool().queueMax());
  }

  private void drop(Stream stream, int queueMax) {
    long tooMany = stream.due - stream.handled - queueMax;
    if (tooMany <= 0) return;
    loop.meters().add(Count.QUEUE_DROPPED, tooMany);
    stream.handled += tooMany;
    backlog -= tooMany;
  }

  @Override
  public void stop() {
    for (Stream stream : streams) {
      drop(stream, 0);
      stream.follow(null);
    }
    allDue = true;
  }
}
