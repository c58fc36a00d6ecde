package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.transport.Terms;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Encodes messages with their terms in the frames of one stream. The body is copied; a publisher is written once and
 * then by number. If the receiver reads that, a body equal to that of the message before it in the frame is not written again.
 *
 * <pre>
 *   flags           QoS, and the bits below
 *   publisher       as in ValueDictionary
 *   accepted at     milliseconds since the previous message, signed
 *   expiry          seconds and offset, with HAS_EXPIRY
 *   exchange        birth of the session, epoch and packet identifier, with IN_EXCHANGE; 0 in the place of the latter for a will
 *   fence           with FENCED
 *   origin          stream (not with SAME_STREAM), number, how many of the lane's last are not settled; with NUMBERED
 *   picked          count, what was picked for the message's groups; with PICKED
 *   topic length, properties length
 *   body            not with SAME_BODY: it is that of the message before, in the same frame
 * </pre>
 *
 * <p>Other data of the sender is between messages, after {@link #BESIDES} in the place of the flags.
 */
public final class Messages {
  private static final int QOS = 0x03;
  private static final int RETAIN = 0x04;
  private static final int HAS_EXPIRY = 0x08;
  private static final int IN_EXCHANGE = 0x10;
  private static final int TOLD_OF_DROPS = 0x20;
  private static final int STORES_FIRST = 0x40;
  private static final int PUBLISHED_ONCE = 0x80;
  private static final int FENCED = 0x100;
  private static final int NUMBERED = 0x200;
  private static final int SAME_STREAM = 0x400;
  private static final int REPEATED = 0x800;
  private static final int PICKED = 0x1000;
  private static final int REPETITION = 0x2000;
  private static final int BESIDES = 0x4000;
  private static final int SAME_BODY = 0x8000;

  /** The length of a body from which it is worth referring to. */
  static final int REFERRED_MIN = 512;

  private final ValueDictionary<Publisher> publishers =
      new ValueDictionary<>(publisher -> publisher.tenant().length() + publisher.clientId().length());
  private long acceptedBefore;

  /** The body of the message before, in the same frame, which the next one may refer to. */
  private byte @Nullable [] bodyBefore;

  /** The lane of the last message that has one. */
  private long streamBefore;

  /** A received message. */
  public record Sent(Publication message, Terms terms) {}

  /** Whether the message before, in the same frame, had this one's body and may be referred to. */
  @SuppressWarnings("ReferenceEquality") // compared for each message: copies of one have the same array
  boolean hasBodyOf(Publication message) {
    return message.body() == bodyBefore;
  }

  /** What was written, or read, is a frame; the next one refers to nothing in it. */
  void endFrame() {
    bodyBefore = null;
  }

  /** Writes a message with its body. */
  public void write(FrameWriter out, Publication message, Terms terms) {
    write(out, message, terms, false);
  }

  /** @param refers whether the message may refer to the body of the one before, and the next one to its body */
  void write(FrameWriter out, Publication message, Terms terms, boolean refers) {
    boolean same = refers && hasBodyOf(message);
    var exchange = message.exchange();
    var origin = terms.origin();
    boolean expires = message.expiryOffset() >= 0;
    int flags =
        message.qos().code()
            | (message.retain() ? RETAIN : 0)
            | (expires ? HAS_EXPIRY : 0)
            | (exchange != null ? IN_EXCHANGE : 0)
            | (message.isRepetition() ? REPETITION : 0)
            | (terms.toldOfDrops() ? TOLD_OF_DROPS : 0)
            | (terms.storesFirst() ? STORES_FIRST : 0)
            | (terms.publishedOnce() ? PUBLISHED_ONCE : 0)
            | (terms.fence() != 0 ? FENCED : 0)
            | (same ? SAME_BODY : 0)
            | (origin == null ? 0 : flags(origin));
    out.number(flags);
    publishers.write(out, message.publisher(), (to, publisher) -> to.text(publisher.tenant()).text(publisher.clientId()));
    out.signed(message.acceptedAtMillis() - acceptedBefore);
    acceptedBefore = message.acceptedAtMillis();
    if (expires) out.number(Integer.toUnsignedLong(message.expirySeconds())).number(message.expiryOffset());
    if (exchange != null) out.number(exchange.birth()).number(exchange.epoch()).number(exchange.packetId());
    if (terms.fence() != 0) out.number(terms.fence());
    if (origin != null) {
      if (origin.stream() != streamBefore) out.number(origin.stream());
      streamBefore = origin.stream();
      out.number(origin.number()).number(origin.number() - origin.settled());
      if (!origin.picked().isEmpty()) {
        out.number(origin.picked().size());
        for (long shard : origin.picked()) out.number(shard);
      }
    }
    out.number(message.topicLength()).number(message.propertiesLength());
    if (!same) out.bytes(message.body());
    bodyBefore = refers ? message.body() : null;
  }

  private int flags(Terms.Origin origin) {
    return NUMBERED
        | (origin.stream() == streamBefore ? SAME_STREAM : 0)
        | (origin.repeated() ? REPEATED : 0)
        | (origin.picked().isEmpty() ? 0 : PICKED);
  }

  /** Begins data other than a message. */
  static void beginBesides(FrameWriter out) {
    out.number(BESIDES);
  }

  /** Whether data other than a message comes next, which can then be read. */
  static boolean isBesides(FrameReader in) throws MalformedFrameException {
    return in.takes(BESIDES);
  }

  /** Reads a message with its body. */
  public Sent read(FrameReader in) throws MalformedFrameException {
    return read(in, false);
  }

  /** @param refers whether the message may refer to the body of the one before, as long as {@link #endFrame} is called behind each frame */
  Sent read(FrameReader in, boolean refers) throws MalformedFrameException {
    int flags = in.count((refers ? 2 * SAME_BODY : SAME_BODY) - 1);
    if ((flags & BESIDES) != 0) throw new MalformedFrameException("flags " + flags);
    if ((flags & QOS) == QOS) throw new MalformedFrameException("QoS 3");
    var publisher = publishers.read(in, from -> new Publisher(from.text(), from.text()));
    long acceptedAt = acceptedBefore + in.signed();
    acceptedBefore = acceptedAt;
    int expirySeconds = Publication.NEVER_EXPIRES;
    int expiryOffset = -1;
    if ((flags & HAS_EXPIRY) != 0) {
      expirySeconds = (int) in.number();
      expiryOffset = in.count(Integer.MAX_VALUE);
    }
    Publication.Exchange exchange = null;
    if ((flags & IN_EXCHANGE) != 0) {
      exchange = new Publication.Exchange(in.number(), in.number(), in.count(65_535));
      boolean will = (flags & PUBLISHED_ONCE) != 0 && (flags & NUMBERED) != 0;
      if (exchange.isOfWill() && !will) throw new MalformedFrameException("packet identifier 0");
    }
    long fence = (flags & FENCED) != 0 ? in.number() : 0;
    var origin = (flags & NUMBERED) != 0 ? readOrigin(flags, in) : null;
    int topicLength = in.count(65_535);
    int propertiesLength = in.count(Integer.MAX_VALUE);
    byte[] body = (flags & SAME_BODY) != 0 ? bodyBefore : in.bytes();
    if (body == null) throw new MalformedFrameException("a message refers to a body, and none is before it in the frame");
    bodyBefore = refers ? body : null;
    var terms = new Terms((flags & TOLD_OF_DROPS) != 0, (flags & STORES_FIRST) != 0, (flags & PUBLISHED_ONCE) != 0, fence, origin);
    try {
      var message =
          new Publication(
              publisher, QoS.of(flags & QOS), (flags & RETAIN) != 0, acceptedAt, expirySeconds, expiryOffset, topicLength, propertiesLength, body, exchange);
      return new Sent((flags & REPETITION) != 0 ? message.asRepetition() : message, terms);
    } catch (IllegalArgumentException e) {
      throw new MalformedFrameException(String.valueOf(e.getMessage()));
    }
  }

  private Terms.Origin readOrigin(int flags, FrameReader in) throws MalformedFrameException {
    if ((flags & SAME_STREAM) == 0) streamBefore = in.number();
    long number = in.number();
    long unsettled = in.number();
    if (number < 0 || unsettled < 0 || unsettled > number) throw new MalformedFrameException("message " + number + " of a lane, of which the last " + unsettled + " are not settled");
    boolean repeated = (flags & REPEATED) != 0;
    if ((flags & PICKED) == 0) return new Terms.Origin(streamBefore, number, number - unsettled, repeated);
    int count = in.count(Terms.Origin.PICKED_MAX);
    var picked = new ArrayList<Long>(count);
    for (int i = 0; i < count; i++) picked.add(in.number());
    return new Terms.Origin(streamBefore, number, number - unsettled, repeated, picked);
  }
}
