package dunlin.dist;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A message that waits, on its way to frontends, until its QoS 2 exchange is recorded, or until it is stored when it
 * {@linkplain Terms#storesFirst is to be first}; it is the recorder's acknowledgement.
 */
final class RecordedDelivery extends Acknowledgement implements Runnable {
  /*
   * A publisher that was taken over sends again, on its new connection, what was not acknowledged on the old one. What the old one had
   * handed on, and the session tier then refused because the session has a new owner, would come twice to subscribers that got it
   * without asking the session tier. So the session tier's log decides: what it has recorded is delivered, by the connection that it
   * came from; what it refuses is delivered by the one that it is sent to again.
   *
   * When the process ends between the two, the message is not lost: the durable sessions have it from the entry that recorded the
   * exchange, and those that wait here end with the process.
   *
   * Owner: the lane's thread holds routes and delivers; the recorder's answer comes from any thread.
   * Bounds: what waits here is not acknowledged and so holds credit of its lane.
   * Failure: an exchange that is not recorded is not delivered, and the publisher gets the reason. A message without one that a bound
   *   keeps from a durable session is delivered to the others all the same.
   */
  private final Publication message;
  private final @Nullable Feedback feedback;
  private final Acknowledgement acknowledgement;
  private final Executor thread;
  private final List<Held> held = new ArrayList<>(1);

  /** Written before the thread is asked to deliver. */
  private ReasonCode recorded = ReasonCode.SUCCESS;

  private record Held(Delivery destination, MatchedRoutes routes) {}

  /**
   * @param acknowledgement expects one answer of this, beside those of the destinations
   */
  RecordedDelivery(Publication message, @Nullable Feedback feedback, Acknowledgement acknowledgement, Executor thread) {
    this.message = message;
    this.feedback = feedback;
    this.acknowledgement = acknowledgement;
    this.thread = thread;
  }

  void hold(Delivery destination, MatchedRoutes routes) {
    held.add(new Held(destination, routes));
  }

  @Override
  public Terms terms() {
    return acknowledgement.terms();
  }

  @Override
  protected void complete(ReasonCode reason) {
    recorded = reason;
    boolean bounded = message.exchange() == null && reason == ReasonCode.QUOTA_EXCEEDED;
    if (reason.isError() && !bounded) acknowledgement.answer(reason);
    else thread.execute(this);
  }

  @Override
  public void run() {
    for (Held each : held) {
      acknowledgement.expect();
      each.destination().deliver(message, each.routes(), feedback, acknowledgement);
    }
    acknowledgement.answer(recorded);
  }
}
