package dunlin.load.client;

import dunlin.load.count.Count;
import java.util.List;

/**
 * A closed loop: a stream sends as soon as an earlier message is complete. With QoS 1 and 2 a message is complete when
 * it is acknowledged, with QoS 0 when all receivers have it.
 */
final class ClosedFlow implements Flow {
  /*
   * Owner: the event loop; receivers on other loops count deliveries in Stream.delivered.
   * Bounds: the window of each stream. Failure: with QoS 0, messages that have not arrived after WRITE_OFF_NANOS are
   * written off, so that the loop goes on. A flow with a number of messages ends early when none was sent within the
   * acknowledgement timeout, because its clients are gone.
   */
  private static final long WRITE_OFF_NANOS = 3_000_000_000L;

  private final Loop loop;
  private final List<Stream> streams;
  private final int clients;
  private final long messages;
  private final long endNanos;

  private boolean stopped;
  private long handledBefore = -1;
  private long progressNanos;

  /** @param messages of all loops together, divided evenly; 0 for no limit */
  ClosedFlow(Loop loop, List<Stream> streams, int clients, long messages, long endNanos) {
    this.loop = loop;
    this.streams = streams;
    this.clients = clients;
    this.messages = messages;
    this.endNanos = endNanos;
    for (Stream stream : streams) {
      stream.follow(this);
      stream.due = share(stream.client().number());
      stream.deliveredBefore = stream.sent() * stream.fanOut - stream.delivered.get(); // still outstanding from an earlier flow
      stream.progressNanos = System.nanoTime();
    }
  }

  private long share(int client) {
    return messages == 0 ? Long.MAX_VALUE : messages / clients + (client < messages % clients ? 1 : 0);
  }

  @Override
  public boolean advance(long nowNanos) {
    if (nowNanos - endNanos >= 0) return true;
    boolean done = true;
    for (Stream stream : streams) {
      if (stream.handled == stream.due) continue;
      done = false;
      if (stream.qos() == 0) {
        writeOff(stream, nowNanos);
        pump(stream);
      } else if (stream.handled == 0) {
        pump(stream);
      }
    }
    return done || (messages > 0 && isStuck(nowNanos));
  }

  private boolean isStuck(long nowNanos) {
    long handled = 0;
    for (Stream stream : streams) handled += stream.handled;
    if (handled != handledBefore) {
      handledBefore = handled;
      progressNanos = nowNanos;
    }
    return nowNanos - progressNanos > loop.ackTimeoutNanos();
  }

  private void writeOff(Stream stream, long nowNanos) {
    long waiting = onTheirWay(stream);
    if (waiting <= 0 || stream.fanOut == 0) return;
    long delivered = stream.delivered.get();
    if (delivered != stream.progress) {
      stream.progress = delivered;
      stream.progressNanos = nowNanos;
    } else if (nowNanos - stream.progressNanos > WRITE_OFF_NANOS) {
      loop.meters().add(Count.WRITTEN_OFF, waiting);
      stream.deliveredBefore += waiting;
      stream.progressNanos = nowNanos;
    }
  }

  /** The number of outstanding deliveries. */
  private static long onTheirWay(Stream stream) {
    return stream.sent() * stream.fanOut - stream.delivered.get() - stream.deliveredBefore;
  }

  private static boolean hasRoom(Stream stream, int window) {
    if (stream.qos() > 0) return stream.client().unacknowledged() < window;
    return stream.fanOut == 0 || onTheirWay(stream) < (long) window * stream.fanOut;
  }

  @Override
  public void pump(Stream stream) {
    if (stopped) return;
    LoadClient client = stream.client();
    int window = stream.publishing().window();
    for (int i = 0; i < window && stream.handled < stream.due && client.canSend(stream) && hasRoom(stream, window); i++) {
      long now = System.nanoTime();
      client.publish(stream, loop.context().clock().microsOf(now), now);
      stream.handled++;
    }
  }

  @Override
  public void stop() {
    stopped = true;
    for (Stream stream : streams) stream.follow(null);
  }
}
