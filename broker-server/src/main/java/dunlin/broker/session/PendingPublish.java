package dunlin.broker.session;

import dunlin.broker.loop.Loop;
import dunlin.broker.loop.LoopThread;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import org.jspecify.annotations.Nullable;

/** A QoS 1 or 2 publish whose client waits for the acknowledgement. It finishes on its session's event loop. */
final class PendingPublish extends Acknowledgement implements Runnable {
  private final LiveSession session;
  private final Terms terms;
  private final int packetId;
  private final QoS qos;
  private final int size;
  private final long acceptedAtMillis;

  /** What traces follow; null if none did when it came. */
  private final @Nullable Publication followed;

  private boolean finished;
  private boolean abandoned;

  /** How often the client has repeated it; each repetition needs its own answer [MQTT-4.3.3-10]. */
  private int repeats;

  private ReasonCode reason = ReasonCode.SUCCESS;
  private @Nullable String refusal;

  /** @param followed its message if a trace follows it, to note the answer; else null, so that the message is not kept in memory */
  PendingPublish(LiveSession session, Terms terms, int packetId, QoS qos, int size, @Nullable Publication followed) {
    this.session = session;
    this.terms = terms;
    this.packetId = packetId;
    this.qos = qos;
    this.size = size;
    this.acceptedAtMillis = session.loop().nowMillis();
    this.followed = followed;
  }

  @Override
  public boolean isForsaken() {
    return session.isForsaken();
  }

  /** When it was received. */
  long acceptedAtMillis() {
    return acceptedAtMillis;
  }

  @Nullable Publication followed() {
    return followed;
  }

  int packetId() {
    return packetId;
  }

  QoS qos() {
    return qos;
  }

  /** The bytes of the lane's credit that it holds. */
  int size() {
    return size;
  }

  boolean finished() {
    return finished;
  }

  /** Notes that it may be acknowledged, in its turn. */
  void finish() {
    finished = true;
  }

  /** Gives it up, because its outcome could not be made durable, or its client goes on elsewhere: its connection ends without an acknowledgement. */
  void abandon() {
    abandoned = true;
  }

  boolean abandoned() {
    return abandoned;
  }

  int repeats() {
    return repeats;
  }

  void repeat() {
    repeats++;
  }

  ReasonCode reason() {
    return reason;
  }

  /** The Reason String for a publish that was refused before any subscriber got it; else null. */
  @Nullable String refusal() {
    return refusal;
  }

  /** Finishes it at once with an error: no subscriber gets it, and the answer is sent in its turn. */
  void refuse(ReasonCode why, String explanation) {
    finished = true;
    reason = why;
    refusal = explanation;
  }

  @Override
  public Terms terms() {
    return terms;
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

  /** Called on the session's loop when all answers have arrived. */
  @Override
  public void run() {
    session.inbound().answered(this);
  }
}
