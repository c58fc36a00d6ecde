package dunlin.dist.deliver;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.RefusedFences;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The delivery of one lane to one destination, which the lane's thread or a worker serves. */
final class DestinationDelivery implements Delivery {
  /*
   * Owner: the lane's thread calls it; the worker calls serve() and endServing(). The destination's own delivery belongs
   * to the thread that serves, but for groupCredit(), which is for the lane's thread at any time.
   * Bounds: see DeliverExecutor.
   * Failure: copies that wait when it is closed, and later ones, are answered SERVER_UNAVAILABLE, and counted if nobody
   * learns of that: with QoS 0, or if no answer is wanted. So nothing is handed over after it was closed. A destination may lose a message, as when its link breaks, and
   * take the next one. So a message that comes again behind an earlier one is not delivered, and answered SERVER_UNAVAILABLE: others may have it already. Nor is one
   * handed over behind a refused message of the same connection, whose client sends both again.
   */
  private static final Logger LOG = LoggerFactory.getLogger(DestinationDelivery.class);

  private final LaneDeliveries lane;
  private final int worker;
  private final ServingThread serving;
  private final Delivery destination;
  private final DeliverExecutor.Bounds bounds;
  private final DeliverMeters meters;

  /** Bytes of the copies at the worker; raised by the lane, lowered by the worker. */
  private final AtomicLong bytes = new AtomicLong();

  /** The lane's. */
  private final RefusedFences refused = new RefusedFences();

  /** Written by the lane. */
  private volatile boolean closed;

  /** The lane's number of the message that was handed over last; the lane's. */
  private long last = -1;

  // The copies of the present batch that were served, and their bytes; the worker's.
  private int served;
  private long servedBytes;

  DestinationDelivery(
      LaneDeliveries lane, int worker, ServingThread serving, Delivery destination, DeliverExecutor.Bounds bounds, DeliverMeters meters) {
    this.lane = lane;
    this.worker = worker;
    this.serving = serving;
    this.destination = destination;
    this.bounds = bounds;
    this.meters = meters;
  }

  @Override
  public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    var answer = CopyAnswer.of(lane.answers(), feedback, acknowledgement);
    if (closed) {
      refuse(message, answer, ReasonCode.SERVER_UNAVAILABLE);
      return;
    }
    boolean here = !lane.isWide() && serving.isLane();
    if (comesAgain(answer, message)) { // asked after that: what the worker has lost by now is known
      refuse(message, answer, ReasonCode.SERVER_UNAVAILABLE);
      return;
    }
    if (answer != null && !refused.isEmpty() && refused.contains(answer.terms().fence())) {
      meters.refused();
      refuse(message, answer, ReasonCode.SERVER_BUSY);
      return;
    }
    if (here) {
      deliver(message, routes, answer);
      return;
    }
    boolean further = lane.message() == last && !serving.isLane();
    var copy = new MessageCopy(this, message, routes.copy(), further ? 0 : message.body().length, answer);
    if (!hasRoom(copy.size())) {
      if (answer != null) refused.add(answer.terms().fence());
      meters.refused();
      refuse(message, answer, ReasonCode.SERVER_BUSY);
      return;
    }
    last = lane.message();
    serving.handOver();
    bytes.getAndAdd(copy.size());
    meters.handed(copy.size());
    lane.gather(worker, copy);
  }

  /** Whether it would overtake an earlier message that is sent again; QoS 0 is not, and wills have no order. */
  private static boolean comesAgain(@Nullable CopyAnswer answer, Publication message) {
    return answer != null && message.qos() != QoS.AT_MOST_ONCE && answer.comesAgain() && !answer.terms().storesFirst();
  }

  private boolean hasRoom(int size) {
    int copies = serving.copies();
    return copies == 0 || (copies < bounds.copies() && bytes.get() + size <= bounds.bytes());
  }

  private void deliver(Publication message, MatchedRoutes routes, @Nullable CopyAnswer answer) {
    destination.deliver(message, routes, answer == null ? null : answer.feedback(), answer == null ? null : answer.acknowledgement());
  }

  /** Serves a copy, on the worker's thread. */
  void serve(MessageCopy copy) {
    if (served++ == 0) serving.begin();
    servedBytes += copy.size();
    if (closed || comesAgain(copy.answer(), copy.message())) {
      refuse(copy.message(), copy.answer(), ReasonCode.SERVER_UNAVAILABLE);
      return;
    }
    try {
      deliver(copy.message(), copy.routes(), copy.answer());
    } catch (RuntimeException | Error e) {
      LOG.error("A message could not be delivered", e);
      refuse(copy.message(), copy.answer(), ReasonCode.SERVER_UNAVAILABLE);
    }
  }

  /** Ends a batch that may have had copies for this, on the worker's thread. */
  void endServing() {
    if (served == 0) return;
    int copies = served;
    long size = servedBytes;
    served = 0;
    servedBytes = 0;
    bytes.getAndAdd(-size);
    meters.served(copies, size);
    serving.end(copies); // last: the lane may serve from now on
  }

  /** Answers for a copy that is not delivered. */
  private void refuse(Publication message, @Nullable CopyAnswer answer, ReasonCode reason) {
    boolean told = answer != null && answer.give(message, reason);
    if (!told || message.qos() == QoS.AT_MOST_ONCE) meters.lost();
  }

  @Override
  public int groupCredit(Route route) {
    return destination.groupCredit(route);
  }

  @Override
  public void close() {
    closed = true;
    if (serving.isLane()) destination.close();
    else serving.execute(destination::close);
  }
}
