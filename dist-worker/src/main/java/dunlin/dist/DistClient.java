package dunlin.dist;

import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import java.util.concurrent.Executor;

/** The dist tier as frontends use it. */
public interface DistClient extends RouteClient {
  /**
   * Opens a lane for the calling thread, the only one that may append to it.
   *
   * @param number of the lane, from 0
   * @param thread runs on that thread what the lane has to go on with later; takes tasks from any thread, and keeps the order in
   *     which one thread hands them over
   * @param credit where a message of QoS 0 holds credit until it has arrived; one that is handed over within the call holds none
   */
  Lane openLane(int number, Executor thread, LaneCredit credit);
}
