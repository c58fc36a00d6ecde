package dunlin.transport;

import dunlin.model.QoS;

/**
 * Holds a publisher up while copies of its messages wait for a shared subscription whose members have no room: one
 * that feeds a group faster than that takes is slowed down, and no other. Called on the thread of the publisher's lane, in pairs.
 */
public interface Feedback {
  /**
   * A copy waits.
   *
   * @param size bytes of the message
   */
  void waits(QoS qos, int size);

  /** That copy waits no longer: somebody has taken it, or it was dropped. */
  void waitsNoLonger(QoS qos, int size);
}
