package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.LaneCredit;
import dunlin.transport.RefusedFences;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the messages of one lane to another process, in order, and receives the answers. A stream that {@linkplain
 * Repeating repeats} sends what was not answered again over its next link, also to another process.
 *
 * @param <A> what accompanies each message
 */
public final class SendingStream<A> {
  /*
   * Messages are numbered from 1 on each link, and batched: the messages of one round of the lane's thread are one
   * frame, or several of FRAME_BYTES. Each gets an answer, also with QoS 0.
   *
   * A message for many groups is sent once for each of them, on the credit of one. To a receiver that knows how to read it, the
   * later ones refer to the body of the first (see Messages), for as long as the frame has less than FRAME_BYTES and twice that body.
   *
   * Credit alone does not keep a link within its bounds for that reason, since earlier receivers get each body. So messages wait
   * here, in their order, while the link is half full, and go on as the other side confirms frames. What waits shares the bytes of
   * the message; what is in the link is a copy of them.
   *
   * Without repeating, the unanswered messages of a lost link are lost, too: QoS 1 and 2 are answered
   * SERVER_UNAVAILABLE, since it is unknown whether they have arrived, and their publishers resend them; QoS 0 is
   * counted. The next message begins another link.
   *
   * With repeating, the next link begins with the messages that the last one left, in their order, and before newer ones:
   *
   *   surely not delivered   any QoS. Either the message was never handed to a pipe, or the other side has said so
   *                          (USE_ANOTHER_SERVER, or the end of its link), as it does when it no longer leads.
   *   QoS 1                  It may come twice, but not to subscriptions with QoS 0: it is marked as a repetition.
   *   QoS 2, recorded        Its exchange is recorded in the log of the session tier, which stores it once. Frontends
   *                          recognise a repetition by its origin, and it brings along what was picked for its groups. So
   *                          each subscriber gets it once.
   *   a recorded will        The same, also with QoS 1: its range stores it once, and it is not marked.
   *   QoS 2, not recorded    No receiver could recognise a repetition: it is answered SERVER_UNAVAILABLE, as without
   *                          repeating.
   *   QoS 0                  It must not come twice: it is counted as lost.
   *
   * A message is repeated until its deadline, then it is answered SERVER_UNAVAILABLE. A message that the other side has
   * over a live link has no deadline: it may wait for a slow disk, or a group. When a message is refused whose publisher
   * is then disconnected (Terms.fence), by the other side or here, the later ones of that connection are neither repeated
   * nor sent: they would overtake it (RefusedFences). Nor is one repeated, or sent after it has waited, whose publisher goes on elsewhere
   * (Acknowledgement.isForsaken): it would come behind what that publishes there. For QoS 0, which has no acknowledgement, the lane asks whether the publishers of this process may go on elsewhere.
   *
   * Without repeating, that holds for what is refused here only. What a lost link leaves comes again over the same connection.
   *
   * Between two links there is a pause, which grows while links are lost soon after they began and have delivered nothing, so that
   * a message that cannot be delivered is not repeated all the time.
   *
   * Owner: the lane's thread.
   * Bounds: PENDING_MAX unanswered messages, which is more than the publishers' credit; further ones are answered
   * SERVER_BUSY. So are those of recorded exchanges when as many of these have come since the oldest unanswered message, since frontends remember them until that is
   * answered. The bytes in flight are at most half of what the link may have, and one frame. A message is forgotten when it
   * is answered or lost; without repeating, it is kept only while it waits for room, and if it is one of QoS 0 that a trace follows.
   * Failure: a malformed answer ends the link. Feedback of a link is undone when it is lost.
   */
  private static final Logger LOG = LoggerFactory.getLogger(SendingStream.class);
  private static final int FRAME_BYTES = 64 * 1_024;
  private static final int PENDING_MAX = 1 << 20;
  private static final long CHECK_MILLIS = 250;
  private static final long PAUSE_MILLIS = 25;
  private static final long PAUSE_MAX_MILLIS = 2_000;

  /** Opens links to the other side. */
  @FunctionalInterface
  public interface Dialler {
    /** Opens a link. Called on the owner's thread, where all of the link's events occur. */
    Link dial(Link.Handler handler);
  }

  /** Handles data that accompanies the messages and answers of one link; a new one for each link. */
  public interface Companion<A> {
    /** Writes what accompanies a message. */
    void write(FrameWriter out, A accompanying);

    /** What accompanies a message that waits for room, to be kept beyond the call. */
    default A keep(A accompanying) {
      return accompanying;
    }

    /** Whether the receiver has said that it reads messages which refer to the body of the one before them. */
    default boolean refersToBodies() {
      return false;
    }

    /** Writes data between messages, on behalf of {@link SendingStream#say}. */
    void say(FrameWriter out);

    /** Receives data from the receiver. */
    void told(FrameReader in) throws MalformedFrameException;

    /** The link is lost. */
    void lost();
  }

  private final Dialler dialler;
  private final Supplier<Companion<A>> companions;
  private final Executor thread;
  private final @Nullable LaneCredit credit;
  private final @Nullable Repeating repeating;
  private final UnacknowledgedDrops drops;
  private final FrameWriter out = new FrameWriter();

  private @Nullable Connected connected;

  /** Messages for the next link, while there is a pause before it, or for room in the present one. */
  private ArrayDeque<Pending<A>> waiting = new ArrayDeque<>();

  private boolean paused;

  private final RefusedFences refused = new RefusedFences();

  /** Links that were lost soon, in a row. */
  private int soonLost;

  /** The number of the last message. */
  private long number;

  /** How many messages have an origin on this lane. */
  private long recorded;

  private boolean flushDue;
  private boolean closed;

  /** Whether messages without an acknowledgement may go on that have waited. */
  private BooleanSupplier goesOn = () -> true;

  /** Whether a link is to begin without a message, until its receiver has said something. */
  private boolean renews;

  private StreamAccount account;

  /** The state of one link. */
  private final class Connected implements Link.Handler, Answers.Listener {
    final Messages messages = new Messages();
    final Companion<A> companion = companions.get();
    final Unanswered<A> unanswered = new Unanswered<>();
    private @Nullable Link link;

    /** Frames sent. */
    private long frames;

    /** Whether the other side has said that it ends the link: then no more messages are sent over it. */
    private boolean ends;

    private final long since = repeating == null ? 0 : repeating.nanoTime().getAsLong();

    private Pending<A> of(long number) throws MalformedFrameException {
      Pending<A> message = unanswered.get(number);
      if (message == null) throw new MalformedFrameException("message " + number + " is not waited for");
      return message;
    }

    @Override
    public void received(byte[] frame) {
      try {
        Answers.read(frame, PENDING_MAX, this);
        if (ends && link != null) link.confirmSoon(); // the other side ends the link when its answers have arrived
      } catch (MalformedFrameException e) {
        LOG.error("The other side of a lane has sent a malformed answer: {}", e.getMessage());
        if (link != null) link.close();
        lost(String.valueOf(e.getMessage()));
      }
    }

    @Override
    public void answered(long number, ReasonCode reason, boolean matched) throws MalformedFrameException {
      Pending<A> message = of(number);
      if (reason == ReasonCode.USE_ANOTHER_SERVER && repeating != null) {
        message.returned = true;
        return;
      }
      unanswered.remove(number);
      if (matched && message.acknowledgement != null) message.acknowledgement.markMatched();
      if (!reason.isError()) soonLost = 0;
      else if (repeating != null) refused.add(message.terms.fence());
      if (reason.isError() && !message.isUnacknowledged()) account.returned();
      else account.delivered();
      settle(message, reason);
    }

    @Override
    public void waits(long number) throws MalformedFrameException {
      of(number).waits();
    }

    @Override
    public void waitsNoLonger(long number) throws MalformedFrameException {
      Pending<A> message = of(number);
      if (message.waiting == 0) throw new MalformedFrameException("message " + number + " does not wait");
      message.waitsNoLonger();
    }

    @Override
    public void told(byte[] besides) throws MalformedFrameException {
      renews = false;
      companion.told(new FrameReader(besides));
    }

    @Override
    public void ends(long last) throws MalformedFrameException {
      if (repeating == null || last < 0 || last >= unanswered.next()) throw new MalformedFrameException("an end behind message " + last);
      ends = true;
      for (long number = last + 1; number < unanswered.next(); number++) of(number).returned = true;
    }

    @Override
    public void picked(long number, long shard) throws MalformedFrameException {
      Pending<A> message = of(number);
      message.picks(shard);
      if (message.acknowledgement != null) message.acknowledgement.picked(shard);
    }

    @Override
    public void lost(String reason) {
      if (connected != this) return;
      LOG.warn("A lane has lost its link with {} unanswered messages: {}", unanswered.size(), reason);
      connected = null;
      out.take();
      companion.lost();
      var all = unanswered.all();
      if (repeating == null || closed) {
        all.addAll(waiting);
        waiting.clear();
        all.forEach(SendingStream.this::lose);
      } else {
        goOnLater(this, all, repeating);
      }
    }

    @Override
    public void confirmed() {
      if (!waiting.isEmpty() && connected == this) sendWaiting(this);
    }

    /** Whether a message may be handed to the link at once; one that is not sent over it any more needs no room. */
    boolean hasRoom() {
      return link == null || ends || link.hasRoom();
    }
  }

  /**
   * @param thread runs tasks on the lane's thread, soon
   * @param credit where a message without an acknowledgement holds credit until it is answered; null for none
   * @param repeating null for a stream that sends nothing again
   * @param drops counts the QoS 0 messages that are lost
   */
  public SendingStream(
      Dialler dialler,
      Supplier<Companion<A>> companions,
      Executor thread,
      @Nullable LaneCredit credit,
      @Nullable Repeating repeating,
      UnacknowledgedDrops drops) {
    this.dialler = dialler;
    this.companions = companions;
    this.thread = thread;
    this.credit = credit;
    this.repeating = repeating;
    this.drops = drops;
    account = drops.open();
  }

  /**
   * Sends a message.
   *
   * @param accompanying what accompanies it; a stream that repeats keeps it until the message is answered
   * @param acknowledgement expects one answer from this stream; null for none
   */
  public void send(Publication message, A accompanying, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    send(message, accompanying, feedback, acknowledgement, repeating == null ? 0 : repeating.deadline());
  }

  /**
   * The same for a message that has waited before.
   *
   * @param deadline until when it may be sent again, or wait for a link: of {@link Repeating#deadline} when it came
   */
  public void send(Publication message, A accompanying, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement, long deadline) {
    var pending = new Pending<A>(message, accompanying, feedback, acknowledgement, ++number, repeating, deadline, drops);
    account.received();
    if (acknowledgement == null && credit != null) credit.take(pending.size);
    if (closed) {
      lose(pending);
      return;
    }
    boolean numbered = repeating != null && message.exchange() != null && pending.terms.origin() == null;
    if (pending() == PENDING_MAX || refused.contains(pending.terms.fence()) || (numbered && recorded - recordedBefore() == PENDING_MAX)) {
      refused.add(pending.terms.fence());
      if (pending.isUnacknowledged()) {
        account.dropped();
        drops.countOverloaded(message);
      } else {
        account.returned();
      }
      settle(pending, ReasonCode.SERVER_BUSY);
      return;
    }
    pending.recordedBefore = recorded;
    if (numbered) recorded++;
    var to = paused ? null : connected();
    if (to != null && connected == to) {
      if (waiting.isEmpty() && to.hasRoom()) put(to, pending, message, accompanying);
      else await(to, pending, message, accompanying);
    } else if (repeating == null) { // lost during dialling
      lose(pending);
    } else {
      waiting.add(pending);
    }
  }

  /** A message of this connection is refused instead of being sent: later ones are not sent, either. */
  public void refuse(Terms terms) {
    refused.add(terms.fence());
  }

  /** How many messages had an origin when the oldest unanswered one came. */
  private long recordedBefore() {
    var present = connected;
    if (present != null && present.unanswered.size() > 0) return present.unanswered.oldest().recordedBefore;
    Pending<A> first = waiting.peek();
    return first == null ? recorded : first.recordedBefore;
  }

  private void await(Connected to, Pending<A> pending, Publication message, A accompanying) {
    if (repeating == null) {
      pending.message = message;
      pending.accompanying = to.companion.keep(accompanying);
    }
    waiting.add(pending);
  }

  /** Hands what waits to the link, as far as it has room. */
  private void sendWaiting(Connected to) {
    while (connected == to && !waiting.isEmpty() && to.hasRoom()) {
      var next = waiting.remove();
      if (repeating != null && isForsaken(next)) {
        refused.add(next.terms.fence());
        lose(next);
        continue;
      }
      var message = Objects.requireNonNull(next.message);
      A accompanying = Objects.requireNonNull(next.accompanying);
      if (repeating == null) {
        next.message = null;
        next.accompanying = null;
      }
      put(to, next, message, accompanying);
    }
  }

  private void put(Connected to, Pending<A> pending, Publication message, A accompanying) {
    to.unanswered.add(pending);
    if (to.ends) return;
    boolean refers = message.body().length >= Messages.REFERRED_MIN && to.companion.refersToBodies();
    if (out.size() >= FRAME_BYTES && !to.messages.hasBodyOf(message)) {
      flush();
      if (connected != to) return;
    }
    pending.frame = to.frames + 1;
    boolean marked = pending.repeated && message.exchange() == null;
    to.messages.write(out, marked ? message.asRepetition() : message, terms(to, pending), refers);
    to.companion.write(out, accompanying);
    flushSoon(refers ? 2 * message.body().length : 0);
  }

  private Terms terms(Connected to, Pending<A> pending) {
    if (repeating == null || pending.message == null || pending.message.exchange() == null) return pending.terms;
    var first = pending.terms.origin(); // of the lane by which the message came to this process
    if (first != null) return pending.repeated ? pending.terms.from(first.asRepetition()) : pending.terms;
    return pending.terms.from(new Terms.Origin(repeating.stream(), pending.number, to.unanswered.oldest().number, pending.repeated, pending.picked));
  }

  // -------------------------------------------------------------------------------------------------------- from one link to the next

  /** Keeps what a link has left and may be sent again, in front of what has come since. */
  private void goOnLater(Connected gone, List<Pending<A>> left, Repeating by) {
    paused = true; // what is sent while messages are answered comes behind those that are kept
    long handed = gone.link == null ? 0 : gone.link.handed();
    for (Pending<A> each : left) {
      each.waitsNowhere();
      if (!each.returned && each.frame <= handed) each.repeated = true;
      each.returned = false;
      each.frame = Pending.UNSENT;
    }
    left.addAll(waiting);
    refuseSome(left, by);
    if (by.nanoTime().getAsLong() - gone.since >= by.patience().toNanos()) soonLost = 0;
    by.later().run(() -> goOn(by), Math.min(PAUSE_MAX_MILLIS, PAUSE_MILLIS << Math.min(soonLost++, 10)));
  }

  /** Has those messages wait that may still be sent, and answers the others. */
  private void refuseSome(Iterable<Pending<A>> messages, Repeating by) {
    long now = by.nanoTime().getAsLong();
    var kept = new ArrayDeque<Pending<A>>();
    var lost = new ArrayList<Pending<A>>();
    for (Pending<A> each : messages) {
      boolean keeps = (!each.repeated || each.mayComeAgain()) && now - each.deadline < 0 && !refused.contains(each.terms.fence()) && !isForsaken(each);
      if (keeps) {
        kept.add(each);
      } else {
        lost.add(each);
        refused.add(each.terms.fence());
      }
    }
    waiting = kept;
    lost.forEach(this::lose);
  }

  private boolean isForsaken(Pending<A> message) {
    return message.isForsaken() || (message.isUnacknowledged() && !goesOn.getAsBoolean());
  }

  /** Sets whether messages of QoS 0 may go on that have waited. Called before the first message. */
  void goesOnWhile(BooleanSupplier condition) {
    goesOn = condition;
  }

  /** Gives the link up, if there is one, and begins the next one, also without a message. Of a stream that repeats. */
  void renew(Repeating by) {
    if (closed) return;
    renews = true;
    var present = connected;
    if (present != null) {
      if (present.link != null) present.link.close();
      present.lost("it is given up");
    } else if (!paused) {
      goOn(by);
    }
  }

  private void goOn(Repeating by) {
    if (closed) return;
    refuseSome(waiting, by);
    paused = false;
    if (waiting.isEmpty() && !renews) return;
    sendWaiting(connected());
  }

  /** Looks at a link that has not begun yet, until it has: messages do not wait for it beyond their deadline. */
  private void check(Connected present, Repeating by) {
    if (connected != present || present.link == null || present.link.handed() > 0 || present.link.isConnected()) return;
    boolean overdue = present.unanswered.size() > 0 && by.nanoTime().getAsLong() - present.unanswered.oldest().deadline >= 0;
    if (overdue) {
      present.link.close();
      present.lost("no node has accepted the lane in time");
    } else {
      by.later().run(() -> check(present, by), CHECK_MILLIS);
    }
  }

  // ------------------------------------------------------------------------------------------------------------------------ frames

  /**
   * Lets the companion write data to the receiver, in order with the messages. It is not answered, and may be lost with
   * the link. Answers false when there is no link: between two of them.
   */
  public boolean say() {
    if (closed || paused) return false;
    var to = connected();
    if (connected != to || to.ends) return false; // lost during dialling, or about to be
    Messages.beginBesides(out);
    to.companion.say(out);
    flushSoon(0);
    return true;
  }

  /** @param more what the frame may have beyond FRAME_BYTES, if more messages with the same body come at once */
  private void flushSoon(int more) {
    if (out.size() >= FRAME_BYTES + more) {
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
    if (repeating != null && connected == begun) repeating.later().run(() -> check(begun, repeating), CHECK_MILLIS);
    return begun;
  }

  private void flushDue() {
    flushDue = false;
    flush();
  }

  private void flush() {
    if (out.size() == 0 || connected == null || connected.link == null) return;
    connected.frames++;
    connected.messages.endFrame();
    connected.link.send(out.take());
  }

  private void lose(Pending<A> message) {
    message.waitsNowhere();
    if (message.isUnacknowledged()) {
      account.dropped();
      drops.countUnreachable(message.followed);
    } else {
      account.returned();
    }
    settle(message, ReasonCode.SERVER_UNAVAILABLE);
  }

  private void settle(Pending<A> message, ReasonCode reason) {
    if (message.acknowledgement != null) message.acknowledgement.answer(reason);
    else if (credit != null) credit.give(1, message.size);
  }

  /** Whether the link is less than half full, and nothing waits for that; otherwise messages that may be dropped are dropped. */
  public boolean hasRoom() {
    return connected == null || connected.link == null || (connected.link.hasRoom() && waiting.isEmpty());
  }

  /** The number of unanswered messages. */
  public int pending() {
    return (connected == null ? 0 : connected.unanswered.size()) + waiting.size();
  }

  /** Closes it; unanswered messages, and later ones, get SERVER_UNAVAILABLE. */
  public void close() {
    closed = true;
    var present = connected;
    if (present != null) {
      flush();
      if (present.link != null) present.link.close();
      present.lost("closed by this side");
    }
    while (!waiting.isEmpty()) lose(waiting.remove());
    account = drops.close(account);
  }
}
