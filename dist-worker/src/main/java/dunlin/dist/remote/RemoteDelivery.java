package dunlin.dist.remote;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.SendingStream;
import java.util.Objects;
import java.util.concurrent.Executor;
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
   * Owner: the thread that serves it; groupCredit() is for the lane's thread, and passes a request for credit on to the
   * serving one.
   * Bounds: the stream's, and those of GroupCredits. No credit is requested while the link is half full.
   * Failure: the stream's.
   */
  private final SendingStream stream;
  private final Executor thread;
  private final GroupCredits credits;
  private MatchedRoutes sending = new MatchedRoutes();
  private @Nullable Route asking;
  private long dropped;

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
      credits.said(group, in.count(Integer.MAX_VALUE));
    }

    @Override
    public void lost() {
      credits.forget();
    }
  }

  /**
   * @param thread runs tasks on the thread that serves this, soon
   * @param nanoTime a clock that never steps, in nanoseconds
   */
  public RemoteDelivery(SendingStream.Dialler dialler, Executor thread, LongSupplier nanoTime) {
    this.thread = thread;
    credits = new GroupCredits(nanoTime);
    stream = new SendingStream(dialler, Routes::new, thread, null, null);
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
    var credit = credits.of(route);
    if (credit.mustAsk()) thread.execute(() -> ask(route));
    return credit.value();
  }

  private void ask(Route group) {
    if (!stream.hasRoom()) {
      credits.of(group).notAsked();
      return;
    }
    asking = group;
    stream.say();
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
