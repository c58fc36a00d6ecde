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
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
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
   * Clients choose the filters that a message matches, and how long they are, and a frame that is too large would break the link for all. So a message with
   * very many of these is sent to a frontend in parts, each with some of its groups, which a frontend serves one by one. Its plain routes stay
   * together, since a session may have several of them. The owner of inbox shards gets all routes at once: it matches plain subscriptions itself, for
   * each delivery that comes, and records an exchange once.
   *
   * Owner: the thread that serves it; groupCredit() is for the lane's thread, and passes requests for credit on to the
   * serving one: those of a round are one task.
   * Bounds: the stream's, and those of GroupCredits. No credit is requested while the link is half full, and ASK_MAX requests wait at most. The routes of a
   * message that cannot be in parts have WHOLE_BYTES at most; with more it is refused with SERVER_BUSY, or dropped and counted if it has QoS 0.
   * Failure: the stream's.
   */
  /** The other side of a pipe accepts a frame of 17 MiB, with a message of 2 MiB at most. */
  private static final int WHOLE_BYTES = 12 << 20;

  /** Routes that weigh less are shorter than WHOLE_BYTES in any case: a character has three bytes at most. */
  private static final int ROUTES_WEIGHT = WHOLE_BYTES / 3;

  /** What the groups of a part may weigh. */
  private static final int PART_WEIGHT = 1 << 20;

  /** What a route weighs beside its characters. */
  private static final int ROUTE_WEIGHT = 16;

  /** So many routes weigh less than ROUTES_WEIGHT, however long each is. */
  private static final int FEW = 32;

  private static final int ASK_MAX = 4_096;

  private final SendingStream<MatchedRoutes> stream;
  private final boolean repeats;
  private final Executor thread;
  private final GroupCredits credits;
  private final UnacknowledgedDrops drops;

  /** Groups whose credit is to be requested. The lane's thread adds, the serving thread takes. */
  private final Queue<Route> toAsk = new ConcurrentLinkedQueue<>();

  private final AtomicInteger asksDue = new AtomicInteger();
  private @Nullable Route asking;

  /** The routes and credits that accompany the messages of one link. */
  private final class Routes implements SendingStream.Companion<MatchedRoutes> {
    private final MatchedRoutesCodec codec = new MatchedRoutesCodec();
    private final MatchedRoutesCodec groups = new MatchedRoutesCodec();
    private boolean refersToBodies;

    @Override
    public void write(FrameWriter out, MatchedRoutes routes) {
      codec.write(out, routes);
    }

    @Override
    public MatchedRoutes keep(MatchedRoutes routes) {
      return routes.copy();
    }

    @Override
    public boolean refersToBodies() {
      return refersToBodies;
    }

    @Override
    public void say(FrameWriter out) {
      codec.write(out, Objects.requireNonNull(asking));
    }

    @Override
    public void told(FrameReader in) throws MalformedFrameException {
      Route group = groups.read(in);
      credits.said(group, in.count(Integer.MAX_VALUE));
      if (in.hasMore()) refersToBodies = (in.number() & RemoteDeliveries.READS_REFERENCES) != 0;
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
      refuse(message, acknowledgement);
    } else if (routes.size() <= FEW || weight(routes) <= ROUTES_WEIGHT) {
      send(message, routes, feedback, acknowledgement);
    } else if (repeats || message.exchange() != null) {
      sendWhole(message, routes, feedback, acknowledgement);
    } else {
      sendInParts(message, routes, feedback, acknowledgement);
    }
  }

  private void sendWhole(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (bytes(routes) <= WHOLE_BYTES) send(message, routes, feedback, acknowledgement);
    else refuse(message, acknowledgement);
  }

  private void send(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    stream.send(message, repeats ? routes.copy() : routes, feedback, acknowledgement);
  }

  private void refuse(Publication message, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement == null || message.qos() == QoS.AT_MOST_ONCE) { // with QoS 0 there is no publisher to answer with an error
      drops.refuseOverloaded(message);
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    } else {
      stream.refuse(acknowledgement.terms());
      acknowledgement.answer(ReasonCode.SERVER_BUSY);
    }
  }

  private static int weight(Route route) {
    return MatchedRoutesCodec.length(route) + ROUTE_WEIGHT;
  }

  private static long weight(MatchedRoutes routes) {
    long sum = 0;
    for (int i = 0; i < routes.size(); i++) sum += weight(routes.get(i));
    return sum;
  }

  private static long bytes(MatchedRoutes routes) {
    long sum = 0;
    for (int i = 0; i < routes.size(); i++) {
      Route each = routes.get(i);
      sum += ROUTE_WEIGHT + each.tenant().length() * 3L + each.shard().name().length() * 3L + each.filter().text().getBytes(StandardCharsets.UTF_8).length;
    }
    return sum;
  }

  private void sendInParts(
      Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    var plain = new MatchedRoutes();
    var parts = new ArrayList<MatchedRoutes>();
    int left = 0;
    for (int i = 0; i < routes.size(); i++) {
      Route each = routes.get(i);
      if (!each.filter().shared()) {
        plain.add(each);
        continue;
      }
      if (left < weight(each)) {
        parts.add(new MatchedRoutes());
        left = PART_WEIGHT;
      }
      parts.getLast().add(each);
      left -= weight(each);
    }
    if (bytes(plain) > WHOLE_BYTES) {
      refuse(message, acknowledgement);
      return;
    }
    if (plain.size() > 0) parts.addFirst(plain);
    if (acknowledgement != null) for (int i = 1; i < parts.size(); i++) acknowledgement.expect();
    for (MatchedRoutes part : parts) send(message, part, feedback, acknowledgement);
  }

  @Override
  public int groupCredit(Route route) {
    var credit = credits.of(route);
    if (credit.mustAsk()) {
      if (asksDue.get() >= ASK_MAX) {
        credit.notAsked();
      } else {
        toAsk.add(route);
        if (asksDue.getAndIncrement() == 0) thread.execute(this::ask);
      }
    }
    return credit.value();
  }

  private void ask() {
    int due = asksDue.get();
    int taken = 0;
    try {
      while (taken < due) {
        Route group = Objects.requireNonNull(toAsk.poll());
        taken++;
        asking = group;
        if (!stream.hasRoom() || !stream.say()) credits.of(group).notAsked();
      }
    } finally {
      if (asksDue.addAndGet(-taken) > 0) thread.execute(this::ask);
    }
  }

  /** Closes it: unanswered messages get {@link ReasonCode#SERVER_UNAVAILABLE}. */
  @Override
  public void close() {
    stream.close();
  }
}
