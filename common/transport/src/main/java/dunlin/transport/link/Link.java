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
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One side of a sequence of frames in both directions between two parts of the broker, over {@linkplain Pipe pipes} that may
 * break and are replaced. What one side sends arrives on the other once and in order, as long as both live. When that cannot
 * be kept any more, the link is lost: its handler is called once, nothing is delivered any more, and of what was sent a
 * beginning has arrived.
 *
 * <p>A frame is confirmed when the other side's handler has been given it, which does not say that it is stored anywhere.
 */
@SuppressWarnings("ReferenceEquality") // pipes are told apart by identity
public final class Link {
  /*
   * Owner: the executor that is handed in, one thread at a time; all methods are called there and nothing here is synchronized. The link
   *   may be called from within its handler. It never calls the handler from within send(), except to say that the link is lost.
   * Bounds: frames sent and not confirmed, in number (framesMax) and in bytes of payload (bytesMax): beyond one of them the link is lost,
   *   and the frame that did not fit is not sent. An arriving frame has bytesMax of payload at most, so both sides should have the same
   *   settings. What has arrived is delivered at once and never kept. One task at a time waits on the executor.
   * Failure: a pipe that breaks, or brings what a correct side does not send, is given up; the next one begins with HELLO in both
   *   directions, which says what was received, and sending goes on behind that. Lost is a link whose other side was restarted (it has
   *   another identity), refuses, says goodbye, or is away: no pipe got as far as its HELLO for awayMax, or nothing was confirmed within
   *   awayMax of time with a pipe. The other side gets a frame when there is a pipe, else it finds out by the same rules. After that all
   *   methods do nothing.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Link.class);

  /** What becomes of the frames that arrive, and of the link. */
  public interface Handler {
    /** Each frame of the other side once and in order. On the owner's thread. The bytes belong to the handler. */
    void received(byte[] frame);

    /** The link is lost; called once, by the owner's thread, and not after {@link Link#close}. The sentence says why. */
    void lost(String reason);

    /** The other side has confirmed some of what was sent: for those who wait with sending until there is room. On the owner's thread. */
    default void confirmed() {}
  }

  /**
   * Bounds of a link; the same on both sides.
   *
   * @param framesMax frames that were sent and are not confirmed, from 1
   * @param bytesMax bytes of these, without what the link adds, from 1; no frame is longer
   * @param awayMax how long the other side may be without a pipe, or have one and confirm nothing of what was sent
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

  /** Who has to know which pipes a link has given up, and that it is over. */
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

  /** Null only while the factory of an accepted link makes it. */
  private @Nullable Handler handler;

  /** The other side's identity; 0 until its first HELLO. */
  private long other;

  private @Nullable Pipe pipe;

  /** Whether the HELLO of the other side has come on this pipe. */
  private boolean greeted;

  private boolean lost;

  /** What was sent and is not confirmed; the first of them has the number {@code confirmed + 1}. */
  private final ArrayDeque<byte[]> unconfirmed = new ArrayDeque<>();

  private long unconfirmedBytes;

  /** The number of the last frame that the other side has confirmed. */
  private long confirmed;

  /** The number of the last frame that has arrived, and of the last that the other side was told of. */
  private long received;

  private long told;

  private boolean confirmPending;

  /** Since when no pipe is greeted. Nanoseconds, of no meaning while one is. */
  private long awaySince;

  /** Since when, of time with a pipe, nothing was confirmed. Nanoseconds, of no meaning while everything is. */
  private long stalledSince;

  /** Why the last pipe was given up; a reason why the other side stays away. */
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
   * The dialling side of a new link, without a pipe so far.
   *
   * @param identity of this link, random and not 0; never the one of a link before
   * @param opening what the dialler says of itself, for the acceptor's factory; 64 KiB at most
   * @param owner runs what the link has to do at the end of a round, on the owner's thread
   * @param nanoTime a clock as {@link System#nanoTime}
   */
  public static Link dialling(long identity, byte[] opening, Settings settings, Executor owner, LongSupplier nanoTime, Handler handler) {
    return new Link(identity, 0, opening, settings, owner, nanoTime, handler, NOBODY);
  }

  /** The accepting side of a new link. It may be sent on, but is not given a pipe before it has a handler. */
  static Link accepted(long identity, long dialler, Settings settings, Executor owner, LongSupplier nanoTime, Keeper keeper) {
    return new Link(identity, dialler, LinkFrame.NOTHING, settings, owner, nanoTime, null, keeper);
  }

  /** Who began it, as {@link Pipe#caller} says; empty where this side did. */
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
   * Sends a frame, now or when there is a pipe, and keeps it until it is confirmed; its bytes must not be changed any more. Beyond the
   * bounds the link is lost. After loss it does nothing.
   */
  public void send(byte[] frame) {
    if (lost) return;
    if (unconfirmed.size() == settings.framesMax() || unconfirmedBytes + frame.length > settings.bytesMax()) {
      lose(unconfirmed.size() + " frames with " + unconfirmedBytes + " bytes are unconfirmed");
      return;
    }
    if (unconfirmed.isEmpty()) stalledSince = nanoTime.getAsLong();
    unconfirmed.add(frame);
    unconfirmedBytes += frame.length;
    if (greeted) sendData(confirmed + unconfirmed.size(), frame);
  }

  private void sendData(long number, byte[] frame) {
    told = received;
    requireNonNull(pipe).send(new Data(number, received, frame).encode());
  }

  /** Whether less than half of the bounds is unconfirmed; advice for those who can wait with sending. */
  public boolean hasRoom() {
    return unconfirmed.size() < (settings.framesMax() + 1) / 2 && unconfirmedBytes < (settings.bytesMax() + 1) / 2;
  }

  /** Goes on with a new pipe; one before it is closed. */
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

  /** Takes what came from a pipe; nothing when it is not the pipe that the link goes on with. Bad bytes cost the pipe, never an exception. */
  public void arrived(Pipe from, byte[] bytes) {
    if (pipe != from) return;
    long before = confirmed;
    try {
      switch (LinkFrame.decode(bytes, settings.bytesMax())) {
        case Hello hello -> greet(hello);
        case Data data -> receive(data);
        case Confirm(var upTo) -> {
          if (!greeted) throw new MalformedLinkFrameException("CONFIRM before HELLO");
          confirm(upTo);
        }
        case Goodbye() -> loseByOther("the other side has ended the link");
        case Refuse(var linkToo, var sentence) -> {
          if (linkToo) {
            loseByOther("the other side refuses: " + sentence);
          } else {
            giveUp("the other side gives the pipe up: " + sentence);
          }
        }
      }
    } catch (MalformedLinkFrameException e) {
      from.send(new Refuse(false, requireNonNull(e.getMessage())).encode());
      giveUp("the other side has sent " + e.getMessage());
    }
    tellConfirmed(before);
  }

  /** Goes on with the pipe on which a dialler has said HELLO, as {@link #checkHello} has allowed. */
  void resume(Pipe next, Hello hello) {
    long before = confirmed;
    connected(next);
    goOnFrom(hello.received());
    tellConfirmed(before);
  }

  /** Last of all, since the handler may send upon it. */
  private void tellConfirmed(long before) {
    if (confirmed > before && !lost) requireNonNull(handler).confirmed();
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
   * Whether sending can go on where the other side wants it. It cannot want what was never sent, nor what it has confirmed: that is a HELLO
   * that was overtaken by the one on a later pipe.
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
    told = received;
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
    if (data.number() <= received) return;
    received = data.number();
    if (!confirmPending) {
      confirmPending = true;
      owner.execute(this::confirmReceived);
    }
    requireNonNull(handler).received(data.payload());
  }

  /** At the end of a round: what has not been said with a frame in the other direction. */
  private void confirmReceived() {
    confirmPending = false;
    if (!greeted || told == received) return;
    told = received;
    requireNonNull(pipe).send(new Confirm(received).encode());
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
      unconfirmedBytes -= unconfirmed.remove().length;
      confirmed++;
    }
    stalledSince = nanoTime.getAsLong();
  }

  /** A pipe is no more; nothing when it is not the one that the link goes on with. */
  public void broken(Pipe gone) {
    if (pipe == gone) release();
  }

  private void giveUp(String why) {
    LOG.warn("Link {} gives a pipe up: {}.", Long.toHexString(identity), why);
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

  /** Now and then: loses the link when the other side has been away for too long. */
  public void tick() {
    if (lost) return;
    long now = nanoTime.getAsLong();
    long awayMaxNanos = settings.awayMax().toNanos();
    if (!greeted && now - awaySince >= awayMaxNanos) {
      lose("the other side was away for " + settings.awayMax() + (trouble.isEmpty() ? "" : ", at last: " + trouble));
    } else if (greeted && !unconfirmed.isEmpty() && now - stalledSince >= awayMaxNanos) {
      lose(unconfirmed.size() + " frames with " + unconfirmedBytes + " bytes are unconfirmed, and none was confirmed for " + settings.awayMax());
    }
  }

  private void lose(String reason) {
    if (pipe != null) pipe.send(new Refuse(true, reason).encode());
    loseByOther(reason);
  }

  private void loseByOther(String reason) {
    end();
    if (handler != null) handler.lost(reason);
  }

  /** Ends the link and tells the other side, for which it is lost then. The handler is not told. After loss it does nothing. */
  public void close() {
    if (lost) return;
    if (pipe != null) pipe.send(new Goodbye().encode());
    end();
  }

  private void end() {
    lost = true;
    unconfirmed.clear();
    unconfirmedBytes = 0;
    if (pipe != null) {
      pipe.close();
      release();
    }
    keeper.ended();
  }

  /** Whether there is a pipe and the other side has said HELLO on it. */
  public boolean isConnected() {
    return greeted;
  }

  /** Whether the link is lost or was closed. */
  public boolean isLost() {
    return lost;
  }

  /** Bytes of payload that were sent and are not confirmed; 0 after loss. */
  public long unconfirmedBytes() {
    return unconfirmedBytes;
  }

  /** Frames that were sent and are not confirmed; 0 after loss. */
  public int unconfirmedFrames() {
    return unconfirmed.size();
  }
}
