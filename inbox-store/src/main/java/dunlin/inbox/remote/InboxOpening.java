package dunlin.inbox.remote;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.transport.link.LinkRefusedException;

/**
 * What a frontend says of itself when it begins a link to the session tier.
 *
 * @param frontend its node id
 * @param incarnation which life of it
 * @param link the number of this link, larger than those of all links that it has begun before in this life
 */
public record InboxOpening(String frontend, long incarnation, long link) {
  private static final int PROTOCOL_VERSION = 5;

  public byte[] encode() {
    return FieldWriter.bytesOf(
        out -> {
          out.number(PROTOCOL_VERSION);
          out.text(frontend);
          out.number(incarnation);
          out.number(link);
        });
  }

  /**
   * @throws LinkRefusedException when it cannot be read, or is of another version
   */
  static InboxOpening decode(byte[] opening) {
    try {
      return FieldReader.read(opening, InboxOpening::read);
    } catch (IllegalStateException e) {
      throw new LinkRefusedException("What the frontend says of itself cannot be read: " + e.getMessage());
    }
  }

  /**
   * This, when it is what the caller may say of itself.
   *
   * @param caller who has proved to have begun the link; empty when that was not verified
   * @throws LinkRefusedException when it is another frontend
   */
  InboxOpening of(String caller) {
    if (!caller.isEmpty() && !caller.equals(frontend)) {
      throw new LinkRefusedException("The frontend says that it is node %s, and its caller is node %s.".formatted(frontend, caller));
    }
    return this;
  }

  /** Whether the frontend has begun this link later than another one. */
  public boolean isLaterThan(InboxOpening other) {
    return incarnation == other.incarnation ? link > other.link : incarnation > other.incarnation;
  }

  private static InboxOpening read(FieldReader in) {
    long version = in.number();
    if (version != PROTOCOL_VERSION) {
      throw new LinkRefusedException(
          "The frontend speaks version %d of the protocol, the session tier version %d.".formatted(version, PROTOCOL_VERSION));
    }
    var opening = new InboxOpening(in.text(), in.number(), in.number());
    if (opening.frontend.isEmpty()) throw new IllegalStateException("no node id");
    return opening;
  }
}
