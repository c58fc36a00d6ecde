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

/** Messages of one lane on their way to another process, in their order, and the answers that come back. */
public final class SendingStream {
  /*
   * Messages are numbered from 1 on each link, and gathered: what is sent in one round of the lane's thread is one frame, or several of
   * FRAME_BYTES. An answer is due for each of them, also of QoS 0.
   *
   * Owner: the lane's thread.
   * Bounds: PENDING_MAX messages without an answer, which their publishers' credit reaches first; further ones are answered SERVER_BUSY. The bytes
   *   on their way are bounded by the link. A message that is answered, or lost with its link, is forgotten.
   * Failure: a link that is lost takes along what is not answered: QoS 1 and 2 are answered SERVER_UNAVAILABLE, since it is unknown whether they
   *   have arrived, and their publishers send them again; QoS 0 is counted. The next message begins another link.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SendingStream.class);
  private static final int FRAME_BYTES = 64 * 1_024;
  private static final int PENDING_MAX = 1 << 20;

  /** Begins a link to the other side and provides it with pipes. */
  @FunctionalInterface
  public interface Dialler {
    /** On the owner's thread, as all that becomes of the link. */
    Link dial(Link.Handler handler);
  }

  /** What goes along with the messages of one link, and what comes back besides answers; a new one for each link. */
  public interface Companion {
    /** Writes what goes along with the message that is being sent. */
    void write(FrameWriter out);

    /** Writes what is said besides messages, as {@link SendingStream#say} was called for. */
    void say(FrameWriter out);

    /** The receiver says something. */
    void told(FrameReader in) throws MalformedFrameException;

    /** The link is over; nothing more comes. */
    void lost();

    /** Of streams that have nothing but messages. */
    static Companion none() {
      return new Companion() {
        @Override
        public void write(FrameWriter out) {}

        @Override
        public void say(FrameWriter out) {
          throw new IllegalStateException("there is nothing to say besides messages");
        }

        @Override
        public void told(FrameReader in) throws MalformedFrameException {
          throw new MalformedFrameException("something besides answers");
        }

        @Override
        public void lost() {}
      };
    }
  }

  /** A message that is not answered. */
  private static final class Pending {
    final QoS qos;
    final int size;
    final @Nullable Feedback feedback;
    final @Nullable Acknowledgement acknowledgement;

    /** Copies of it that wait for a group. */
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
  private long lostUnacknowledged;

  /** What belongs to one link. */
  private final class Connected implements Link.Handler, Answers.Listener {
    final Messages messages = new Messages();
    final Companion companion = companions.get();
    private @Nullable Pending[] ring = new @Nullable Pending[64];

    /** Numbers of the first message without an answer, and of the next one. */
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
        LOG.error("The other side of a lane has sent an answer that cannot be read: {}", e.getMessage());
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
      LOG.warn("A lane has lost its link with {} messages on their way: {}", pending(), reason);
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
   * @param credit where a message without an acknowledgement holds credit until it is answered; null for nowhere
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
   * @param acknowledgement expects one answer of this; null for none
   */
  public void send(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    var terms = acknowledgement == null ? Terms.ANSWERED : acknowledgement.terms();
    var pending = new Pending(message.qos(), message.body().length, feedback, acknowledgement);
    if (acknowledgement == null && credit != null) credit.take(pending.size);
    var to = connected();
    if (to.pending() == PENDING_MAX) {
      settle(pending, ReasonCode.SERVER_BUSY);
      return;
    }
    if (connected == null) { // lost while it was dialled
      lose(pending);
      return;
    }
    to.add(pending);
    to.messages.write(out, message, terms);
    to.companion.write(out);
    flushSoon();
  }

  /** Has the companion say something besides messages to the receiver, in order with them. It is not answered, and may be lost with the link. */
  public void say() {
    var to = connected();
    if (connected == null) return; // lost while it was dialled
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

  /** Whether the link is less than half full; what can be dropped is, rather than sent, when it is not. */
  public boolean hasRoom() {
    return connected == null || connected.link == null || connected.link.hasRoom();
  }

  /** Messages without an answer. */
  public int pending() {
    return connected == null ? 0 : connected.pending();
  }

  /** Messages of QoS 0 that were lost with their links. */
  public long lostUnacknowledged() {
    return lostUnacknowledged;
  }

  /** Ends it; what is not answered is answered SERVER_UNAVAILABLE. */
  public void close() {
    var present = connected;
    if (present == null) return;
    flush();
    if (present.link != null) present.link.close();
    present.lost("this side ends it");
  }
}
