package dunlin.transport;

import dunlin.model.QoS;

/**
 * Holds a publisher back while copies of its messages wait for a shared subscription whose members have no room, so
 * that only a publisher that is too fast for a group is slowed down. Called on the thread of the publisher's lane, in
 * pairs.
 */
public interface Feedback {
  /**
   * A copy begins to wait.
   *
   * @param size bytes of the message
   */
  void waits(QoS qos, int size);

  /** That copy no longer waits: a member has got it, or it was dropped. */
  void waitsNoLonger(QoS qos, int size);
}
