package dunlin.broker;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;

/** A publish of QoS 1 or 2 that a client waits to have acknowledged. Finishes on its session's event loop. */
final class PendingPublish extends Acknowledgement implements Runnable {
  private final LiveSession session;
  private final int packetId;
  private final QoS qos;
  private final int size;

  private boolean finished;
  private ReasonCode reason = ReasonCode.SUCCESS;

  PendingPublish(LiveSession session, int packetId, QoS qos, int size) {
    this.session = session;
    this.packetId = packetId;
    this.qos = qos;
    this.size = size;
  }

  int packetId() {
    return packetId;
  }

  QoS qos() {
    return qos;
  }

  /** Bytes of the lane's credit that it holds. */
  int size() {
    return size;
  }

  boolean finished() {
    return finished;
  }

  ReasonCode reason() {
    return reason;
  }

  @Override
  protected void complete(ReasonCode worst) {
    reason = worst;
    Loop owner = session.loop();
    Loop current = LoopThread.current();
    if (current == owner) {
      run();
    } else if (current != null) {
      current.batchTo(owner).finished(this);
    } else {
      owner.post(this);
    }
  }

  /** On the session's loop: all answers are in. */
  @Override
  public void run() {
    finished = true;
    session.inbound().finished(this);
  }
}
