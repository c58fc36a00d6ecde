package dunlin.dist;

import dunlin.dist.route.RouteClient;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import java.util.concurrent.Executor;

/** The dist tier, as frontends use it. */
public interface DistClient extends RouteClient {
  /**
   * Opens a lane for the calling thread, the only one that may append to it.
   *
   * @param number the lane's number, from 0
   * @param thread runs the lane's later work on its thread; takes tasks from any thread, and keeps the order of each
   * @param credit where a QoS 0 message holds credit until it is delivered; one that is delivered within the call holds
   *     none
   */
  Lane openLane(int number, Executor thread, LaneCredit credit);

  /**
   * Deals a message of QoS 1 or 2 again that the last member of a group at this frontend has left behind: to a member at another one, or to the durable members, and to no
   * other subscribers. Any thread; never blocks. Without other frontends there is no such member.
   *
   * @param group the filter of the shared subscription
   * @param acknowledgement expects one answer for this, and is {@linkplain Acknowledgement#markMatched marked} when there is a member
   */
  default void redeal(Publication message, TopicFilter group, Acknowledgement acknowledgement) {
    acknowledgement.answer(ReasonCode.SUCCESS);
  }
}
