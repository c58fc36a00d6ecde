package dunlin.dist.remote;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Delivers the messages of one lane to a frontend, or the owner of inbox shards, in another process; {@link
 * RemoteDeliveries} is the other end. One that {@linkplain Repeating repeats} sends what a link leaves unanswered again, to the
 * next owner.
 */
public final class RemoteDelivery implements Delivery {
  /*
   * A slow destination does not delay others: it has a link of its own. When that is half full, messages of QoS 0 are
   * dropped and counted, and answered at once, so that their publishers have their credit back. All others are sent;
   * they are bounded by the credit of their publishers, which are not read from once it is used up.
   *
   * Owner: the thread that serves it; groupCredit() is for the lane's thread, and passes requests for credit on to the
   * serving one: those of a round are one task.
   * Bounds: the stream's, and those of GroupCredits. No credit is requested while the link is half full.
   * Failure: the stream's.
   */
  private final SendingStream<MatchedRoutes> stream;
  private final boolean repeats;
  private final Executor thread;
  private final GroupCredits credits;
  private final UnacknowledgedDrops drops;

  /** Groups whose credit is to be requested. The lane's thread adds, the serving thread takes. */
  private final Queue<Route> toAsk = new ConcurrentLinkedQueue<>();

  private final AtomicBoolean askDue = new AtomicBoolean();
  private @Nullable Route asking;

  /** The routes and credits that accompany the messages of one link. */
  private final class Routes implements SendingStream.Companion<MatchedRoutes> {
    private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
    private final MatchedRoutesCodec groups = new MatchedRoutesCodec();

    @Override
    public void write(FrameWriter out, MatchedRoutes routes) {
      codec.write(out, routes);
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
   * @param repeating null for a destination whose memory ends with it, as a frontend's does: nothing is sent to it again
   * @param drops counts the QoS 0 messages that are dropped or lost
   */
  public RemoteDelivery(
      SendingStream.Dialler dialler, Executor thread, LongSupplier nanoTime, @Nullable Repeating repeating, UnacknowledgedDrops drops) {
    this.thread = thread;
    this.drops = drops;
    repeats = repeating != null;
    credits = new GroupCredits(nanoTime);
    stream = new SendingStream<>(dialler, Routes::new, thread, null, repeating, drops);
  }

  @Override
  public void deliver(
      Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (message.qos() == QoS.AT_MOST_ONCE && !stream.hasRoom()) {
      drops.refuseOverloaded(message);
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS); // QoS 0: nobody could be told of an error
      return;
    }
    stream.send(message, repeats ? routes.copy() : routes, feedback, acknowledgement);
  }

  @Override
  public int groupCredit(Route route) {
    var credit = credits.of(route);
    if (credit.mustAsk()) {
      toAsk.add(route);
      if (askDue.compareAndSet(false, true)) thread.execute(this::ask);
    }
    return credit.value();
  }

  private void ask() {
    askDue.set(false);
    for (Route group = toAsk.poll(); group != null; group = toAsk.poll()) {
      asking = group;
      if (!stream.hasRoom() || !stream.say()) credits.of(group).notAsked();
    }
  }

  /** Closes it: unanswered messages get {@link ReasonCode#SERVER_UNAVAILABLE}. */
  @Override
  public void close() {
    stream.close();
  }
}
