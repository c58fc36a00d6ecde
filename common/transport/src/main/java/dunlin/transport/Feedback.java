package dunlin.transport;

import dunlin.model.QoS;

/**
 * What a publisher is told while copies of its messages wait for a shared subscription in which nobody has room, so that it is not read from: one
 * that feeds a group faster than that takes is slowed down, and nobody else. Called on the thread of the publisher's lane, in pairs.
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
