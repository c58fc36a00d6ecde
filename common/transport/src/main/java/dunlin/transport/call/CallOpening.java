package dunlin.transport.call;

import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkRefusedException;

/**
 * What a caller says of itself when it begins a link.
 *
 * @param protocol as {@link CallProtocol#name}
 * @param caller its node id, followed by a slash and more when a node calls a tier in several ways
 * @param incarnation which life of it, larger than those before
 * @param number of the link in that life, from 1
 */
public record CallOpening(String protocol, String caller, long incarnation, long number) {
  public byte[] encode() {
    return new FrameWriter().text(protocol).text(caller).number(incarnation).number(number).take();
  }

  /**
   * @throws LinkRefusedException when it cannot be read, or is of another protocol
   */
  static CallOpening decode(byte[] opening, CallProtocol protocol) {
    try {
      var in = new FrameReader(opening);
      String spoken = in.text();
      if (!spoken.equals(protocol.name())) {
        throw new LinkRefusedException("The caller speaks \"%s\", the %s \"%s\".".formatted(spoken, protocol.tier(), protocol.name()));
      }
      var read = new CallOpening(spoken, in.text(), in.number(), in.number());
      if (in.hasMore()) throw new MalformedFrameException("something behind it");
      if (read.caller.isEmpty()) throw new MalformedFrameException("no name");
      return read;
    } catch (MalformedFrameException e) {
      throw new LinkRefusedException("What the caller says of itself cannot be read: " + e.getMessage() + ".");
    }
  }

  /**
   * This, when it is what the caller may say of itself.
   *
   * @param verified as {@link Link#caller}
   * @throws LinkRefusedException when it calls in the name of another
   */
  CallOpening of(String verified) {
    if (verified.isEmpty() || caller.equals(verified) || caller.startsWith(verified + "/")) return this;
    throw new LinkRefusedException("The caller is %s, and calls itself \"%s\".".formatted(verified, caller));
  }

  /** Whether that one began before this one. */
  boolean isLaterThan(CallOpening other) {
    return incarnation != other.incarnation ? incarnation > other.incarnation : number > other.number;
  }
}
