package dunlin.dist;

import dunlin.dist.route.RouteClient;
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
}
