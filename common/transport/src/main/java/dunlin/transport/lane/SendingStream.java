package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.LaneCredit;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import java.util.Arrays;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends the messages of one lane to another process, in order, and receives the answers. */
public final class SendingStream {
  /*
   * Messages are numbered from 1 on each link, and batched: the messages of one round of the lane's thread are one
   * frame, or several of FRAME_BYTES. Each gets an answer, also with QoS 0.
   *
   * Owner: the lane's thread.
   * Bounds: PENDING_MAX unanswered messages, which is more than the publishers' credit; further ones are answered
   * SERVER_BUSY. The link bounds the bytes in flight. A message is forgotten when it is answered or lost with its link.
   * Failure: when a link is lost, its unanswered messages are, too. QoS 1 and 2 are answered SERVER_UNAVAILABLE, since
   * it is unknown whether they have arrived, and their publishers resend them; QoS 0 is counted. The next message
   * begins another link.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SendingStream.class);
  private static final int FRAME_BYTES = 64 * 1_024;
  private static final int PENDING_MAX = 1 << 20;

  /** Opens links to the other side. */
  @FunctionalInterface
  public interface Dialler {
    /** Opens a link. Called on the owner's thread, where all of the link's events occur. */
    Link dial(Link.Handler handler);
  }

  /** Handles data that accompanies the messages and answers of one link; a new one for each link. */
  public interface Companion {
    /** Writes the data that accompanies the message being sent. */
    void write(FrameWriter out);

    /** Writes data between messages, on behalf of {@link SendingStream#say}. */
    void say(FrameWriter out);

    /** Receives data from the receiver. */
    void told(FrameReader in) throws MalformedFrameException;

    /** The link is lost. */
    void lost();
  }

  /** An unanswered message. */
  private static final class Pending {
    final QoS qos;
    final int size;
    final @Nullable Feedback feedback;
    final @Nullable Acknowledgement acknowledgement;

    /** The number of its copies that wait for a group. */
    int waiting;

    Pending(QoS qos, int size, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      this.qos = qos;
      this.size = size;
      this.feedback = feedback;
      this.acknowledgement = acknowledgement;
    }
  }

  private final Dialler dialler;
  private final Supplier<Companion> companions;
  private final Executor thread;
  private final @Nullable LaneCredit credit;
  private final FrameWriter out = new FrameWriter();

  private @Nullable Connected connected;
  private boolean flushDue;
  private boolean closed;
  private long lostUnacknowledged;

  /** The state of one link. */
  private final class Connected implements Link.Handler, Answers.Listener {
    final Messages messages = new Messages();
    final Companion companion = companions.get();
    private @Nullable Pending[] ring = new @Nullable Pending[64];

    /** The numbers of the first unanswered message, and of the next one. */
    private long base = 1;

    private long next = 1;
    private @Nullable Link link;

    int pending() {
      return (int) (next - base);
    }

    void add(Pending message) {
      if (pending() == ring.length) grow();
      ring[(int) next++ & ring.length - 1] = message;
    }

    private void grow() {
      @Nullable Pending[] larger = new @Nullable Pending[ring.length * 2];
      for (long number = base; number < next; number++) larger[(int) number & larger.length - 1] = ring[(int) number & ring.length - 1];
      ring = larger;
    }

    private Pending of(long number) throws MalformedFrameException {
      Pending message = number < base || number >= next ? null : ring[(int) number & ring.length - 1];
      if (message == null) throw new MalformedFrameException("message " + number + " is not waited for");
      return message;
    }

    @Override
    public void received(byte[] frame) {
      try {
        Answers.read(frame, PENDING_MAX, this);
      } catch (MalformedFrameException e) {
        LOG.error("The other side of a lane has sent a malformed answer: {}", e.getMessage());
        if (link != null) link.close();
        lost(String.valueOf(e.getMessage()));
      }
    }

    @Override
    public void answered(long number, ReasonCode reason, boolean matched) throws MalformedFrameException {
      Pending message = of(number);
      ring[(int) number & ring.length - 1] = null;
      while (base < next && ring[(int) base & ring.length - 1] == null) base++;
      if (matched && message.acknowledgement != null) message.acknowledgement.markMatched();
      settle(message, reason);
    }

    @Override
    public void waits(long number) throws MalformedFrameException {
      Pending message = of(number);
      message.waiting++;
      if (message.feedback != null) message.feedback.waits(message.qos, message.size);
    }

    @Override
    public void waitsNoLonger(long number) throws MalformedFrameException {
      Pending message = of(number);
      if (message.waiting == 0) throw new MalformedFrameException("message " + number + " does not wait");
      message.waiting--;
      if (message.feedback != null) message.feedback.waitsNoLonger(message.qos, message.size);
    }

    @Override
    public void told(byte[] besides) throws MalformedFrameException {
      companion.told(new FrameReader(besides));
    }

    @Override
    public void lost(String reason) {
      if (connected != this) return;
      LOG.warn("A lane has lost its link with {} unanswered messages: {}", pending(), reason);
      connected = null;
      out.take();
      companion.lost();
      @Nullable Pending[] all = Arrays.copyOf(ring, ring.length);
      int mask = all.length - 1;
      for (long number = base; number < next; number++) {
        Pending message = all[(int) number & mask];
        if (message != null) lose(message);
      }
    }
  }

  /**
   * @param thread runs tasks on the lane's thread, soon
   * @param credit where a message without an acknowledgement holds credit until it is answered; null for none
   */
  public SendingStream(Dialler dialler, Supplier<Companion> companions, Executor thread, @Nullable LaneCredit credit) {
    this.dialler = dialler;
    this.companions = companions;
    this.thread = thread;
    this.credit = credit;
  }

  /**
   * Sends a message.
   *
   * @param acknowledgement expects one answer from this stream; null for none
   */
  public void send(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    var terms = acknowledgement == null ? Terms.ANSWERED : acknowledgement.terms();
    var pending = new Pending(message.qos(), message.body().length, feedback, acknowledgement);
    if (acknowledgement == null && credit != null) credit.take(pending.size);
    if (closed) {
      lose(pending);
      return;
    }
    var to = connected();
    if (to.pending() == PENDING_MAX) {
      settle(pending, ReasonCode.SERVER_BUSY);
      return;
    }
    if (connected == null) { // lost during dialling
      lose(pending);
      return;
    }
    to.add(pending);
    to.messages.write(out, message, terms);
    to.companion.write(out);
    flushSoon();
  }

  /** Lets the companion write data to the receiver, in order with the messages. It is not answered, and may be lost with the link. */
  public void say() {
    if (closed) return;
    var to = connected();
    if (connected == null) return; // lost during dialling
    Messages.beginBesides(out);
    to.companion.say(out);
    flushSoon();
  }

  private void flushSoon() {
    if (out.size() >= FRAME_BYTES) {
      flush();
    } else if (!flushDue) {
      flushDue = true;
      thread.execute(this::flushDue);
    }
  }

  private Connected connected() {
    var present = connected;
    if (present != null) return present;
    var begun = new Connected();
    connected = begun;
    begun.link = dialler.dial(begun);
    return begun;
  }

  private void flushDue() {
    flushDue = false;
    flush();
  }

  private void flush() {
    if (out.size() == 0 || connected == null || connected.link == null) return;
    connected.link.send(out.take());
  }

  private void lose(Pending message) {
    for (; message.waiting > 0; message.waiting--) {
      if (message.feedback != null) message.feedback.waitsNoLonger(message.qos, message.size);
    }
    if (message.acknowledgement == null) lostUnacknowledged++;
    settle(message, ReasonCode.SERVER_UNAVAILABLE);
  }

  private void settle(Pending message, ReasonCode reason) {
    if (message.acknowledgement != null) message.acknowledgement.answer(reason);
    else if (credit != null) credit.give(1, message.size);
  }

  /** Whether the link is less than half full; otherwise messages that may be dropped are dropped. */
  public boolean hasRoom() {
    return connected == null || connected.link == null || connected.link.hasRoom();
  }

  /** The number of unanswered messages. */
  public int pending() {
    return connected == null ? 0 : connected.pending();
  }

  /** QoS 0 messages that were lost with their links. */
  public long lostUnacknowledged() {
    return lostUnacknowledged;
  }

  /** Closes it; unanswered messages, and later ones, get SERVER_UNAVAILABLE. */
  public void close() {
    closed = true;
    var present = connected;
    if (present == null) return;
    flush();
    if (present.link != null) present.link.close();
    present.lost("closed by this side");
  }
}
