package dunlin.transport.link;

import static java.util.Objects.requireNonNull;

import dunlin.transport.link.LinkFrame.Confirm;
import dunlin.transport.link.LinkFrame.Data;
import dunlin.transport.link.LinkFrame.Goodbye;
import dunlin.transport.link.LinkFrame.Hello;
import dunlin.transport.link.LinkFrame.Refuse;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One side of an ordered, bidirectional sequence of frames between two parts of the broker, over {@linkplain Pipe
 * pipes} that may break and are replaced. Frames arrive once and in order as long as both sides live. When that cannot
 * be guaranteed any more, the link is lost: its handler is called once, nothing more is delivered, and a prefix of the
 * sent frames has arrived.
 *
 * <p>A frame is confirmed when it was passed to the other side's handler, which does not mean that it is stored.
 */
@SuppressWarnings("ReferenceEquality") // pipes, and the sign of life, are compared by identity
public final class Link {
  /*
   * Owner: the given executor, one thread at a time; all methods are called there and nothing is synchronized. The
   * handler may call the link. The link never calls the handler inside of send(), except when it is lost.
   * Bounds: unconfirmed frames, in number (framesMax) and in bytes of payload (bytesMax): beyond either, the link is
   * lost, and the frame that did not fit is not sent. A received frame has at most bytesMax of payload, so both sides
   * should have the same settings. Received frames are delivered at once and never kept. At most one task waits on the
   * executor.
   * Confirmations: each costs both processes a frame, and so the wake-up of several threads. Frames of the other direction
   * carry them. One is sent by itself for CONFIRM_FRAMES frames or CONFIRM_BYTES (but for an eighth of the bounds at most), for
   * an empty frame, at each tick, and when the handler asks for it. So the sender may keep that much for a second although it has arrived.
   * Failure: a pipe that breaks or brings a malformed frame is abandoned; the next one begins with HELLO in both
   * directions, which says what was received, and sending continues after that. A link is lost when the other side was
   * restarted (it has another identity), refuses, sends GOODBYE, or is away: no pipe has reached its HELLO for awayMax,
   * or nothing was confirmed within awayMax of time with a pipe. The other side is told if there is a pipe; otherwise
   * it finds out by the same rules. After that all methods do nothing.
   *
   * A link that is watched knows for how long its other side has given no sign of life, which is a frame or a confirmation. It sends an empty frame with each tick unless one is unconfirmed, or the link is half full. Any
   * handler takes that for nothing, and the other side confirms it at once. A tick that comes late counts for half of the silence that is allowed at most: this side stood still then.
   * After such a silence the link is lost, or goes on. If it goes on, it sends an empty frame at once. A frame that does not confirm this one may have been sent before the silence, and was on its way all
   * the time (isLate). One that does was handed to a pipe afterwards.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Link.class);
  private static final int CONFIRM_FRAMES = 8;
  private static final int CONFIRM_BYTES = 64 * 1_024;

  /** Is confirmed by the other side, and tells its handler nothing. */
  private static final byte[] SIGN = new byte[0];

  /** Receives the frames and the end of a link. */
  public interface Handler {
    /** Called with each frame of the other side, once and in order, on the owner's thread. The bytes belong to the handler. */
    void received(byte[] frame);

    /** Called once when the link is lost, with the reason, on the owner's thread; not after {@link Link#close}. */
    void lost(String reason);

    /** Called on the owner's thread when the other side has confirmed frames, for senders that wait for room. */
    default void confirmed() {}

    /** Called on the owner's thread when the link {@linkplain Link#isConnected is connected}, for the first time or again. */
    default void connected() {}
  }

  /**
   * Bounds of a link; the same on both sides.
   *
   * @param framesMax unconfirmed frames, from 1
   * @param bytesMax bytes of payload of these, from 1; no frame is longer
   * @param awayMax how long the other side may be without a pipe, or have one and confirm nothing
   */
  public record Settings(int framesMax, long bytesMax, Duration awayMax) {
    public Settings {
      if (framesMax < 1) throw new IllegalArgumentException("framesMax " + framesMax);
      if (bytesMax < 1) throw new IllegalArgumentException("bytesMax " + bytesMax);
      if (!awayMax.isPositive()) throw new IllegalArgumentException("awayMax " + awayMax);
    }

    /** 65,536 frames, 64 MiB, 10 seconds. */
    public static Settings defaults() {
      return new Settings(65_536, 64L << 20, Duration.ofSeconds(10));
    }
  }

  /** Is notified when a link has abandoned a pipe, and when the link is over. */
  interface Keeper {
    String caller();

    void released(Pipe pipe);

    void ended();
  }

  private static final Keeper NOBODY =
      new Keeper() {
        @Override
        public String caller() {
          return "";
        }

        @Override
        public void released(Pipe pipe) {}

        @Override
        public void ended() {}
      };

  private final long identity;
  private final byte[] opening;
  private final Settings settings;
  private final Executor owner;
  private final LongSupplier nanoTime;
  private final Keeper keeper;

  /** Null only while the factory of an accepted link creates it. */
  private @Nullable Handler handler;

  /** The other side's identity; 0 until its first HELLO. */
  private long other;

  private @Nullable Pipe pipe;

  /** Whether the other side's HELLO has been received on this pipe. */
  private boolean greeted;

  private boolean lost;

  /** Frames that are not confirmed; the first has the number {@code confirmed + 1}. */
  private final ArrayDeque<byte[]> unconfirmed = new ArrayDeque<>();

  /** Bytes of payload of these; written by the owner only, read by metrics. */
  private final AtomicLong unconfirmedBytes = new AtomicLong();

  /** The number of the last frame that the other side has confirmed. */
  private long confirmed;

  /** The number of the last received frame, and of the last one confirmed to the other side. */
  private long received;

  private long told;

  /** Bytes of payload of the frames between these two. */
  private long untoldBytes;

  private boolean confirmPending;

  /** The number of the last frame that was handed to a pipe. */
  private long handed;

  /** Since when no pipe is greeted, in nanoseconds; without meaning while one is. */
  private long awaySince;

  /** Since when, in time with a pipe, nothing was confirmed, in nanoseconds; without meaning while everything is. */
  private long stalledSince;

  /** How long the other side may be silent, in nanoseconds; 0 when it is not watched. */
  private long silenceMax;

  /** Whether the link is lost then. */
  private boolean endsInSilence;

  /** For how long the other side has been silent, and when that was counted last. */
  private long silence;

  private long listenedAt;

  /** The number of the first frame that was sent after the last such silence; 0 before there was one. */
  private long provenBy;

  /** Whether the frame that is being handed over does not confirm that one. */
  private boolean late;

  /** How many of the unconfirmed frames are signs of life. */
  private int signs;

  /** Why the last pipe was abandoned; it may explain why the other side stays away. */
  private String trouble = "";

  private Link(
      long identity, long other, byte[] opening, Settings settings, Executor owner, LongSupplier nanoTime, @Nullable Handler handler, Keeper keeper) {
    if (identity == 0) throw new IllegalArgumentException("identity 0");
    if (opening.length > LinkFrame.OPENING_BYTES_MAX) throw new IllegalArgumentException("opening of " + opening.length + " bytes");
    this.identity = identity;
    this.other = other;
    this.opening = opening;
    this.settings = settings;
    this.owner = owner;
    this.nanoTime = nanoTime;
    this.handler = handler;
    this.keeper = keeper;
    awaySince = nanoTime.getAsLong();
  }

  /**
   * Creates the dialling side of a new link, without a pipe.
   *
   * @param identity the link's identity, random and not 0; never that of an earlier link
   * @param opening data of the dialler for the acceptor's factory; 64 KiB at most
   * @param owner runs the link's work at the end of a round, on the owner's thread
   * @param nanoTime a clock as {@link System#nanoTime}
   */
  public static Link dialling(long identity, byte[] opening, Settings settings, Executor owner, LongSupplier nanoTime, Handler handler) {
    return new Link(identity, 0, opening, settings, owner, nanoTime, handler, NOBODY);
  }

  /** Creates the accepting side of a new link. It may send, but gets no pipe before it has a handler. */
  static Link accepted(long identity, long dialler, Settings settings, Executor owner, LongSupplier nanoTime, Keeper keeper) {
    return new Link(identity, dialler, LinkFrame.NOTHING, settings, owner, nanoTime, null, keeper);
  }

  /** The caller that began the link, see {@link Pipe#caller}; empty when this side began it. */
  public String caller() {
    return keeper.caller();
  }

  void handler(Handler accepting) {
    handler = accepting;
  }

  long identity() {
    return identity;
  }

  /**
   * Sends a frame, now or when there is a pipe, and keeps it until it is confirmed; the caller must not change its
   * bytes. Beyond the bounds the link is lost. After loss it does nothing.
   */
  public void send(byte[] frame) {
    if (lost) return;
    if (unconfirmed.size() == settings.framesMax() || unconfirmedBytes.getPlain() + frame.length > settings.bytesMax()) {
      lose(unconfirmed.size() + " frames with " + unconfirmedBytes.getPlain() + " bytes are unconfirmed");
      return;
    }
    if (unconfirmed.isEmpty()) stalledSince = nanoTime.getAsLong();
    if (frame == SIGN) signs++;
    unconfirmed.add(frame);
    unconfirmedBytes.setOpaque(unconfirmedBytes.getPlain() + frame.length);
    if (greeted) sendData(confirmed + unconfirmed.size(), frame);
  }

  /** Loses the link when the other side was silent for that long, with or without a pipe: what it had sent does not arrive any more. Needs {@link #tick}s twice as often. */
  public void endInSilence(Duration longest) {
    watch(longest, true);
  }

  /** Says of each frame whether it {@linkplain #isLate may be late}, when the other side was silent for that long. Needs {@link #tick}s twice as often. */
  public void noteSilence(Duration longest) {
    watch(longest, false);
  }

  private void watch(Duration longest, boolean ends) {
    silenceMax = longest.toNanos();
    endsInSilence = ends;
    listenedAt = nanoTime.getAsLong();
  }

  /** Whether the frame that is being handed to the handler may have been sent before the other side was silent for as long as {@link #noteSilence} says. */
  public boolean isLate() {
    return late;
  }

  private void sendData(long number, byte[] frame) {
    handed = Math.max(handed, number);
    requireNonNull(pipe).send(new Data(number, confirming(), frame).encode());
  }

  /** Whether less than half of the bounds is used; advice for senders that can wait. */
  public boolean hasRoom() {
    return unconfirmed.size() < (settings.framesMax() + 1) / 2 && unconfirmedBytes.getPlain() < (settings.bytesMax() + 1) / 2;
  }

  /** Continues with a new pipe; the previous one is closed. */
  public void connected(Pipe next) {
    if (lost) {
      next.close();
      return;
    }
    if (pipe != null) {
      pipe.close();
      release();
    }
    pipe = next;
    next.send(new Hello(identity, other, received, opening).encode());
  }

  /**
   * Receives a frame from a pipe; ignored when it is not the current pipe. A malformed frame only ends the pipe, and
   * throws no exception.
   */
  public void arrived(Pipe from, byte[] bytes) {
    if (pipe != from) return;
    long before = confirmed;
    boolean wasGreeted = greeted;
    try {
      switch (LinkFrame.decode(bytes, settings.bytesMax())) {
        case Hello hello -> greet(hello);
        case Data data -> receive(data);
        case Confirm(var upTo) -> {
          if (!greeted) throw new MalformedLinkFrameException("CONFIRM before HELLO");
          confirm(upTo);
          heard();
        }
        case Goodbye() -> loseByOther("the other side has ended the link");
        case Refuse(var linkToo, var sentence) -> {
          if (linkToo) {
            loseByOther("the other side refuses: " + sentence);
          } else {
            giveUp("the other side abandons the pipe: " + sentence);
          }
        }
      }
    } catch (MalformedLinkFrameException e) {
      from.send(new Refuse(false, requireNonNull(e.getMessage())).encode());
      giveUp("the other side has sent " + e.getMessage());
    }
    tell(wasGreeted, before);
  }

  /** Continues with the pipe on which a dialler has sent HELLO, after {@link #checkHello}. */
  void resume(Pipe next, Hello hello) {
    long before = confirmed;
    connected(next);
    goOnFrom(hello.received());
    tell(false, before);
  }

  /** Called last, since the handler may send frames or close the link in it. */
  private void tell(boolean wasGreeted, long confirmedBefore) {
    if (greeted && !wasGreeted) requireNonNull(handler).connected();
    if (confirmed > confirmedBefore && !lost) requireNonNull(handler).confirmed();
  }

  private void greet(Hello hello) throws MalformedLinkFrameException {
    if (greeted) throw new MalformedLinkFrameException("HELLO twice");
    if (hello.other() != identity) throw new MalformedLinkFrameException("HELLO for another link");
    if (hello.opening().length > 0) throw new MalformedLinkFrameException("an opening, which only diallers send");
    if (other != 0 && other != hello.identity()) {
      lose("the other side was restarted");
      return;
    }
    checkHello(hello);
    other = hello.identity();
    goOnFrom(hello.received());
  }

  /**
   * Checks that sending can continue where the other side asks. It cannot ask for frames that were never sent, or that
   * it has confirmed: such a HELLO was overtaken by that of a later pipe.
   */
  void checkHello(Hello hello) throws MalformedLinkFrameException {
    checkSent(hello.received());
    if (hello.received() < confirmed) {
      throw new MalformedLinkFrameException("HELLO with " + hello.received() + " frames received, " + confirmed + " were confirmed before");
    }
  }

  private void goOnFrom(long receivedByOther) {
    long now = nanoTime.getAsLong();
    stalledSince = now - Math.max(0, awaySince - stalledSince);
    greeted = true;
    trouble = "";
    confirming(); // HELLO has said it
    confirmUpTo(receivedByOther);
    long number = confirmed;
    for (byte[] frame : unconfirmed) sendData(++number, frame);
  }

  private void receive(Data data) throws MalformedLinkFrameException {
    if (!greeted) throw new MalformedLinkFrameException("DATA before HELLO");
    if (data.number() > received + 1) {
      throw new MalformedLinkFrameException("DATA " + data.number() + " behind DATA " + received);
    }
    confirm(data.confirms());
    heard();
    if (lost || data.number() <= received) return;
    received = data.number();
    untoldBytes += data.payload().length;
    late = data.confirms() < provenBy;
    boolean isSign = data.payload().length == 0; // by which the other side finds out whether this one lives
    if (isSign || received - told >= Math.min(CONFIRM_FRAMES, settings.framesMax() / 8) || untoldBytes >= Math.min(CONFIRM_BYTES, settings.bytesMax() / 8)) confirmSoon();
    requireNonNull(handler).received(data.payload());
  }

  private void heard() {
    boolean wasSilent = silenceMax > 0 && silence >= silenceMax;
    silence = 0;
    if (!wasSilent) return;
    provenBy = confirmed + unconfirmed.size() + 1;
    send(SIGN);
  }

  /** Confirms all that has come, at the end of a round, unless a frame carries it before: for a handler whose other side waits for that. */
  public void confirmSoon() {
    if (confirmPending || told == received) return;
    confirmPending = true;
    owner.execute(
        () -> {
          confirmPending = false;
          confirmReceived();
        });
  }

  private void confirmReceived() {
    if (greeted && told < received) requireNonNull(pipe).send(new Confirm(confirming()).encode());
  }

  /** What the other side learns now to have arrived. */
  private long confirming() {
    told = received;
    untoldBytes = 0;
    return received;
  }

  private void confirm(long upTo) throws MalformedLinkFrameException {
    checkSent(upTo);
    confirmUpTo(upTo);
  }

  private void checkSent(long upTo) throws MalformedLinkFrameException {
    long sent = confirmed + unconfirmed.size();
    if (upTo > sent) throw new MalformedLinkFrameException("a confirmation of " + upTo + " frames, sent are " + sent);
  }

  private void confirmUpTo(long upTo) {
    if (upTo <= confirmed) return;
    while (confirmed < upTo) {
      byte[] frame = unconfirmed.remove();
      if (frame == SIGN) signs--;
      unconfirmedBytes.setOpaque(unconfirmedBytes.getPlain() - frame.length);
      confirmed++;
    }
    stalledSince = nanoTime.getAsLong();
  }

  /** A pipe has broken; ignored when it is not the current one. */
  public void broken(Pipe gone) {
    if (pipe == gone) release();
  }

  private void giveUp(String why) {
    LOG.warn("Link {} abandons a pipe: {}.", Long.toHexString(identity), why);
    trouble = why;
    requireNonNull(pipe).close();
    release();
  }

  private void release() {
    Pipe gone = requireNonNull(pipe);
    pipe = null;
    if (greeted) awaySince = nanoTime.getAsLong();
    greeted = false;
    keeper.released(gone);
  }

  /** Called each second: confirms what is left of that, and loses the link when the other side has been away for too long. */
  public void tick() {
    if (lost) return;
    confirmReceived();
    long now = nanoTime.getAsLong();
    long awayMaxNanos = settings.awayMax().toNanos();
    if (!greeted && now - awaySince >= awayMaxNanos) {
      lose("the other side was away for " + settings.awayMax() + (trouble.isEmpty() ? "" : ", at last: " + trouble));
    } else if (greeted && !unconfirmed.isEmpty() && now - stalledSince >= awayMaxNanos) {
      lose(unconfirmed.size() + " frames with " + unconfirmedBytes.getPlain() + " bytes are unconfirmed, and none was confirmed for " + settings.awayMax());
    } else if (silenceMax > 0) {
      listen(now);
    }
  }

  private void listen(long now) {
    silence += Math.min(now - listenedAt, silenceMax / 2);
    listenedAt = now;
    if (endsInSilence && silence >= silenceMax) lose("the other side was silent for " + Duration.ofNanos(silenceMax));
    else if (greeted && signs == 0 && hasRoom()) send(SIGN); // when it is half full there is enough to be confirmed
  }

  private void lose(String reason) {
    if (pipe != null) pipe.send(new Refuse(true, reason).encode());
    loseByOther(reason);
  }

  private void loseByOther(String reason) {
    end();
    if (handler != null) handler.lost(reason);
  }

  /** Closes the link and tells the other side, for which it is then lost. The handler is not called. After loss it does nothing. */
  public void close() {
    if (lost) return;
    if (pipe != null) pipe.send(new Goodbye().encode());
    end();
  }

  private void end() {
    lost = true;
    unconfirmed.clear();
    signs = 0;
    unconfirmedBytes.setOpaque(0);
    if (pipe != null) {
      pipe.close();
      release();
    }
    keeper.ended();
  }

  /** Whether there is a pipe on which the other side has sent HELLO. */
  public boolean isConnected() {
    return greeted;
  }

  /** Whether the link is lost or was closed. */
  public boolean isLost() {
    return lost;
  }

  /** The number of the last frame, counted from 1, that may have reached the other side; also after loss. */
  public long handed() {
    return handed;
  }

  /** Unconfirmed bytes of payload; 0 after loss. Any thread. */
  public long unconfirmedBytes() {
    return unconfirmedBytes.getOpaque();
  }

  /** Unconfirmed frames, but for signs of life; 0 after loss. */
  public int unconfirmedFrames() {
    return unconfirmed.size() - signs;
  }
}
