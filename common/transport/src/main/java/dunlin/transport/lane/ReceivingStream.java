package dunlin.transport.lane;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Receives the messages of one lane from another process, in order, and returns the answers. */
public final class ReceivingStream implements Link.Handler {
  /*
   * Owner: the lane's thread, which is also the link's. Answers come from any thread; they are gathered, and sent in
   * one frame.
   * Bounds: UNANSWERED_MAX unanswered messages, more than a sender's credit allows: beyond that, the link is closed.
   * Failure: a malformed frame closes the link, and so does a receiver that fails: the sender then treats the outcome
   * as unknown. Messages being delivered when the link ends are still delivered; their answers are dropped.
   */
  private static final Logger LOG = LoggerFactory.getLogger(ReceivingStream.class);
  private static final int UNANSWERED_MAX = 1 << 20;

  /** Receives the messages. */
  public interface Receiver {
    /**
     * Receives a message.
     *
     * @param in positioned after the message; the receiver reads all data that accompanies it
     * @param receipt feedback and acknowledgement of the message, whatever its QoS; expects one answer from the
     *     receiver, beside those that it adds
     */
    void take(Messages.Sent sent, FrameReader in, Receipt receipt, ReceivingStream stream) throws MalformedFrameException;

    /**
     * Receives data other than messages.
     *
     * @param in the receiver reads all of the data
     */
    void hear(FrameReader in, ReceivingStream stream) throws MalformedFrameException;

    /** The stream has begun; called on the owner's thread before its first message. */
    default void begun(ReceivingStream stream) {}

    /** The stream has ended with its link; not called when the acceptor of the links is closed. */
    default void ended(ReceivingStream stream) {}
  }

  /** Collects the answer to one message for the sender. */
  public final class Receipt extends Acknowledgement implements Feedback {
    private final long number;
    private final int size;
    private final Terms terms;
    private volatile ReasonCode reason = ReasonCode.SUCCESS;

    private Receipt(long number, int size, Terms terms) {
      this.number = number;
      this.size = size;
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
      answered.add(this);
      goOnSoon();
    }

    @Override
    public void waits(QoS qos, int size) {
      answers.waits(number, true);
      goOnSoon();
    }

    @Override
    public void waitsNoLonger(QoS qos, int size) {
      answers.waits(number, false);
      goOnSoon();
    }
  }

  private final Link link;
  private final Executor thread;
  private final Receiver receiver;
  private final Messages messages = new Messages();
  private final Answers.Writer answers = new Answers.Writer();
  private final ConcurrentLinkedQueue<Receipt> answered = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean goesOn = new AtomicBoolean();

  private long next = 1;
  private long unanswered;

  /** Written by the owner only, read by metrics. */
  private final AtomicLong unansweredBytes = new AtomicLong();

  /** @param thread runs tasks on the lane's thread, soon */
  public ReceivingStream(Link link, Executor thread, Receiver receiver) {
    this.link = link;
    this.thread = thread;
    this.receiver = receiver;
    receiver.begun(this);
  }

  @Override
  public void received(byte[] frame) {
    var in = new FrameReader(frame);
    try {
      while (in.hasMore() && !link.isLost()) {
        if (Messages.isBesides(in)) {
          receiver.hear(in, this);
          continue;
        }
        var sent = messages.read(in);
        if (unanswered == UNANSWERED_MAX) throw new MalformedFrameException(UNANSWERED_MAX + " messages are not answered");
        int size = sent.message().body().length;
        unanswered++;
        unansweredBytes.setOpaque(unansweredBytes.getPlain() + size);
        var receipt = new Receipt(next++, size, sent.terms());
        receiver.take(sent, in, receipt, this);
        receipt.answer(ReasonCode.SUCCESS);
      }
    } catch (MalformedFrameException e) {
      LOG.error("The other side of a lane has sent a malformed frame: {}", e.getMessage());
      end();
    } catch (RuntimeException e) {
      LOG.error("A message from another process could not be delivered; its lane is closed", e);
      end();
    }
  }

  private void end() {
    if (link.isLost()) return;
    link.close();
    receiver.ended(this);
  }

  /** Nothing is kept for a lost link. */
  @Override
  public void lost(String reason) {
    LOG.info("A lane from another process has ended with {} unanswered messages: {}", unanswered, reason);
    receiver.ended(this);
  }

  /** Sends data other than answers to the sender's companion. Called on the owner's thread. */
  public void tell(byte[] besides) {
    answers.besides(besides);
    goOnSoon();
  }

  /** The same from any thread; nothing is sent when the lane's thread has ended. */
  void tellSoon(byte[] besides) {
    try {
      thread.execute(() -> tell(besides));
    } catch (RejectedExecutionException over) {
      LOG.debug("The thread of a lane has ended");
    }
  }

  private void goOnSoon() {
    if (!goesOn.get() && goesOn.compareAndSet(false, true)) thread.execute(this::goOn);
  }

  private void goOn() {
    goesOn.set(false);
    for (Receipt receipt = answered.poll(); receipt != null; receipt = answered.poll()) {
      unanswered--;
      unansweredBytes.setOpaque(unansweredBytes.getPlain() - receipt.size);
      answers.answered(receipt.number, receipt.reason, receipt.matched());
    }
    if (!answers.isEmpty()) link.send(answers.take());
  }

  /** Unanswered messages. */
  public long unanswered() {
    return unanswered;
  }

  /** Bytes of the unanswered messages. Any thread. */
  public long unansweredBytes() {
    return unansweredBytes.getOpaque();
  }
}
