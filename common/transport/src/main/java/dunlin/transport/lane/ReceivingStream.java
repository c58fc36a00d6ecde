package dunlin.transport.lane;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Receives the messages of one lane from another process, in order, and returns the answers. */
public final class ReceivingStream implements Link.Handler {
  /*
   * Owner: the lane's thread, which is also the link's. Answers come from any thread; they are gathered, and sent in
   * one frame. Other data for the sender is in frames of FRAME_BYTES, and one piece more.
   * Bounds: UNANSWERED_MAX unanswered messages, more than a sender's credit allows: beyond that, the link is closed.
   * Failure: a malformed frame closes the link, and so does a receiver that fails: the sender then treats the outcome
   * as unknown. Messages being delivered when the link ends are still delivered; their answers are dropped.
   *
   * A stream whose sender repeats does not answer SERVER_UNAVAILABLE, which says that the outcome is unknown: it ends its
   * link instead, and the sender sends the message again to the leader at that time. Nothing later may be delivered before
   * that, so from the first such answer on, also of one of several destinations, no message is delivered, and the sender
   * learns which was the last. The link ends once the others are answered and the sender has the answers, or after a
   * grace period.
   */
  private static final Logger LOG = LoggerFactory.getLogger(ReceivingStream.class);
  private static final int UNANSWERED_MAX = 1 << 20;
  private static final int FRAME_BYTES = 64 * 1_024;

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

    /** A frame has been read to its end. What the receiver says of its messages altogether is said now. */
    default void frameEnds(ReceivingStream stream) {}

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
    private final QoS qos;
    private volatile ReasonCode reason = ReasonCode.SUCCESS;
    private volatile List<Long> recorded = List.of();

    private Receipt(long number, Messages.Sent sent) {
      this.number = number;
      this.size = sent.message().body().length;
      this.terms = sent.terms();
      this.qos = sent.message().qos();
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    public boolean comesAgain() {
      return grace != null && ending.get();
    }

    @Override
    public void willFail(ReasonCode why) {
      failed(why);
    }

    /** A sender that does not repeat need not know. */
    @Override
    public void picked(long shard) {
      if (grace == null) return;
      answers.picked(number, shard);
      goOnSoon();
    }

    /** The sender learns it with the answer. */
    @Override
    public void recorded(List<Long> picks) {
      recorded = picks;
    }

    @Override
    protected void failed(ReasonCode why) {
      if (grace != null && qos != QoS.AT_MOST_ONCE && (why == ReasonCode.SERVER_UNAVAILABLE || why == ReasonCode.USE_ANOTHER_SERVER)) end();
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
      answered.add(this);
      goOnSoon();
    }

    /** Whether the sender learns the outcome only by the end of the link. */
    private boolean leavesOpen() {
      return grace != null && qos != QoS.AT_MOST_ONCE && reason == ReasonCode.SERVER_UNAVAILABLE;
    }

    @Override
    public void waits(QoS of, int size) {
      answers.waits(number, true);
      goOnSoon();
    }

    @Override
    public void waitsNoLonger(QoS of, int size) {
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

  /** Runs tasks on the lane's thread after the grace period; null when the sender does not repeat. */
  private final @Nullable Executor grace;

  private final CompletableFuture<@Nullable Void> over = new CompletableFuture<>();

  /** Whether no message is delivered any more. Set by any thread. */
  private final AtomicBoolean ending = new AtomicBoolean();

  private boolean endSaid;
  private long next = 1;
  private long unanswered;

  /** Written by the owner only, read by metrics. */
  private final AtomicLong unansweredBytes = new AtomicLong();

  /** @param thread runs tasks on the lane's thread, soon */
  public ReceivingStream(Link link, Executor thread, Receiver receiver) {
    this(link, thread, receiver, null);
  }

  /**
   * A stream whose sender repeats.
   *
   * @param grace runs tasks on the lane's thread after the time that an ending link may take to answer what it has
   */
  public ReceivingStream(Link link, Executor thread, Receiver receiver, @Nullable Executor grace) {
    this.link = link;
    this.thread = thread;
    this.receiver = receiver;
    this.grace = grace;
    receiver.begun(this);
  }

  @Override
  public void received(byte[] frame) {
    var in = new FrameReader(frame);
    try {
      while (in.hasMore() && !ending.get() && !link.isLost()) {
        if (Messages.isBesides(in)) {
          receiver.hear(in, this);
          continue;
        }
        var sent = messages.read(in, true);
        if (unanswered == UNANSWERED_MAX) throw new MalformedFrameException(UNANSWERED_MAX + " messages are not answered");
        unanswered++;
        var receipt = new Receipt(next++, sent);
        unansweredBytes.setOpaque(unansweredBytes.getPlain() + receipt.size);
        receiver.take(sent, in, receipt, this);
        receipt.answer(ReasonCode.SUCCESS);
      }
      messages.endFrame();
      receiver.frameEnds(this);
    } catch (MalformedFrameException e) {
      LOG.error("The other side of a lane has sent a malformed frame: {}", e.getMessage());
      close();
    } catch (RuntimeException e) {
      LOG.error("A message from another process could not be delivered; its lane is closed", e);
      close();
    }
  }

  /** Nothing is kept for a lost link. */
  @Override
  public void lost(String reason) {
    LOG.info("A lane from another process has ended with {} unanswered messages: {}", unanswered, reason);
    ended();
  }

  /**
   * Ends the link of a sender that repeats: delivers nothing more, and answers what it has. Any thread.
   *
   * @return {@link #over}
   */
  public CompletableFuture<@Nullable Void> end() {
    var after = grace;
    if (after == null) throw new IllegalStateException("the sender does not repeat");
    if (ending.compareAndSet(false, true)) {
      goOnSoon();
      after.execute(this::close);
    }
    return over;
  }

  /** Completes when the link has ended, on the lane's thread. */
  public CompletableFuture<@Nullable Void> over() {
    return over;
  }

  private void close() {
    if (link.isLost()) return;
    link.close();
    ended();
  }

  private void ended() {
    receiver.ended(this);
    over.complete(null);
  }

  /** Sends data other than answers to the sender's companion. Called on the owner's thread. */
  public void tell(byte[] besides) {
    answers.besides(besides);
    if (answers.size() >= FRAME_BYTES) link.send(answers.take());
    else goOnSoon();
  }

  /** Whether the link is less than half full; otherwise only what the sender has asked for is sent. */
  public boolean hasRoom() {
    return link.hasRoom();
  }

  /** The same from any thread; nothing is sent when the lane's thread has ended. */
  void tellSoon(byte[] besides) {
    execute(() -> tell(besides));
  }

  private void goOnSoon() {
    if (!goesOn.get() && goesOn.compareAndSet(false, true)) execute(this::goOn);
  }

  /** Does nothing when the lane's thread has ended, and the link with it. */
  private void execute(Runnable task) {
    try {
      thread.execute(task);
    } catch (RejectedExecutionException over) {
      LOG.debug("The thread of a lane has ended");
    }
  }

  private void goOn() {
    goesOn.set(false);
    for (Receipt receipt = answered.poll(); receipt != null; receipt = answered.poll()) {
      unanswered--;
      unansweredBytes.setOpaque(unansweredBytes.getPlain() - receipt.size);
      if (receipt.leavesOpen()) continue;
      for (long pick : receipt.recorded) answers.picked(receipt.number, pick);
      answers.answered(receipt.number, receipt.reason, receipt.matched());
    }
    if (ending.get() && !endSaid) {
      endSaid = true;
      answers.ends(next - 1);
    }
    if (!answers.isEmpty()) link.send(answers.take());
    closeWhenAnswered();
  }

  @Override
  public void confirmed() {
    closeWhenAnswered();
  }

  private void closeWhenAnswered() {
    if (endSaid && unanswered == 0 && link.unconfirmedFrames() == 0) close();
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
