package dunlin.dist.remote;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.Route;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.SendingStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The way of one lane to the frontend of another process; {@link RemoteDeliveries} is its other end. */
public final class RemoteDelivery implements Delivery {
  /*
   * A frontend that is slow holds up nobody else: it has a link of its own. When that is half full, what nobody waits for is dropped and counted. All
   * else is sent, and is bounded by the credit of its publishers, who are not read from.
   *
   * Owner: the lane's thread.
   * Bounds: the stream's; the credit of CREDITS_MAX groups, all of which is forgotten when there are more.
   * Failure: the stream's. What a frontend said of a group that takes nothing is believed for NOTHING_NANOS; then one message asks it again.
   */
  private static final int CREDITS_MAX = 4_096;
  private static final long NOTHING_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Credit of a group of which nothing is known: its members take something. */
  private static final int UNKNOWN = 2;

  /** Credit of a group that was said to take nothing too long ago: it may be tried. */
  private static final int TO_BE_TRIED = 1;

  private final SendingStream stream;
  private final LongSupplier nanoTime;

  /** By the groups' routes. */
  private final Map<Route, Credit> credits = new HashMap<>();

  private MatchedRoutes sending = new MatchedRoutes();
  private long dropped;

  private record Credit(int value, long saidNanos) {}

  /** What goes with the messages of one link. */
  private final class Routes implements SendingStream.Companion {
    private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
    private final MatchedRoutesCodec groups = new MatchedRoutesCodec();

    @Override
    public void write(FrameWriter out) {
      codec.write(out, sending);
    }

    @Override
    public void told(FrameReader in) throws MalformedFrameException {
      Route group = groups.read(in);
      int value = in.count(Integer.MAX_VALUE);
      if (credits.size() == CREDITS_MAX) credits.clear();
      credits.put(group, new Credit(value, nanoTime.getAsLong()));
    }
  }

  /**
   * @param thread runs tasks on the lane's thread, soon
   * @param nanoTime a clock that never steps, in nanoseconds
   */
  public RemoteDelivery(SendingStream.Dialler dialler, Executor thread, LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    stream = new SendingStream(dialler, Routes::new, thread, null);
  }

  @Override
  public void deliver(
      Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement == null && !stream.hasRoom()) {
      dropped++;
      return;
    }
    sending = routes;
    stream.send(message, feedback, acknowledgement);
  }

  @Override
  public int groupCredit(Route route) {
    var credit = credits.get(route);
    if (credit == null) return UNKNOWN;
    boolean stale = credit.value == 0 && nanoTime.getAsLong() - credit.saidNanos >= NOTHING_NANOS;
    return stale ? TO_BE_TRIED : credit.value;
  }

  /** Messages of QoS 0 that were dropped since the frontend was too slow. */
  public long dropped() {
    return dropped;
  }

  /** Ends it: what is not answered is answered {@link ReasonCode#SERVER_UNAVAILABLE}. */
  public void close() {
    stream.close();
  }
}
