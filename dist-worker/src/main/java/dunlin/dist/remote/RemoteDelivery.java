package dunlin.dist.remote;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.Route;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.SendingStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Delivers the messages of one lane to a frontend, or the owner of inbox shards, in another process; {@link
 * RemoteDeliveries} is the other end.
 */
public final class RemoteDelivery implements Delivery {
  /*
   * A slow destination does not delay others: it has a link of its own. When that is half full, messages without an
   * acknowledgement are dropped and counted. All others are sent; they are bounded by the credit of their publishers,
   * which are not read from once it is used up.
   *
   * A group's credit is requested when it is first needed, and again when the answer is BELIEVED_NANOS old. The
   * destination also reports it when messages have changed it by half. So a group that had no credit, and so gets no
   * messages, is not skipped for ever.
   *
   * Owner: the lane's thread.
   * Bounds: the stream's; the credit of CREDITS_MAX groups, all of which are forgotten when there are more; one pending
   * request for a group's credit, and none while the link is half full.
   * Failure: the stream's. The credit of groups is forgotten with the link.
   */
  private static final int CREDITS_MAX = 4_096;
  private static final long BELIEVED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The credit of a group before the first answer. A frontend has connected members; those of inbox shards may all be absent. */
  private static final int UNKNOWN_OF_FRONTEND = 2;

  private static final int UNKNOWN_OF_INBOX = 1;

  private final SendingStream stream;
  private final LongSupplier nanoTime;

  /** The credit of groups, by their routes. */
  private final Map<Route, Credit> credits = new HashMap<>();

  private MatchedRoutes sending = new MatchedRoutes();
  private @Nullable Route asking;
  private long dropped;

  private static final class Credit {
    private int value;
    private long saidNanos;
    private boolean asked;

    private Credit(int value, long saidNanos) {
      this.value = value;
      this.saidNanos = saidNanos;
    }
  }

  /** The routes and credits that accompany the messages of one link. */
  private final class Routes implements SendingStream.Companion {
    private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
    private final MatchedRoutesCodec groups = new MatchedRoutesCodec();

    @Override
    public void write(FrameWriter out) {
      codec.write(out, sending);
    }

    @Override
    public void say(FrameWriter out) {
      codec.write(out, Objects.requireNonNull(asking));
    }

    @Override
    public void told(FrameReader in) throws MalformedFrameException {
      Route group = groups.read(in);
      int value = in.count(Integer.MAX_VALUE);
      var credit = credits.get(group);
      if (credit == null) credit = add(group, value);
      credit.value = value;
      credit.saidNanos = nanoTime.getAsLong();
      credit.asked = false;
    }

    @Override
    public void lost() {
      credits.clear();
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

  private Credit add(Route group, int value) {
    if (credits.size() == CREDITS_MAX) credits.clear();
    var credit = new Credit(value, nanoTime.getAsLong() - BELIEVED_NANOS);
    credits.put(group, credit);
    return credit;
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
    if (credit == null) credit = add(route, route.shard().kind() == ShardId.Kind.FRONTEND ? UNKNOWN_OF_FRONTEND : UNKNOWN_OF_INBOX);
    if (!credit.asked && nanoTime.getAsLong() - credit.saidNanos >= BELIEVED_NANOS && stream.hasRoom()) {
      credit.asked = true;
      asking = route;
      stream.say();
    }
    return credit.value;
  }

  /** Messages of QoS 0 that were dropped because the destination was too slow. */
  public long dropped() {
    return dropped;
  }

  /** Closes it: unanswered messages get {@link ReasonCode#SERVER_UNAVAILABLE}. */
  @Override
  public void close() {
    stream.close();
  }
}
