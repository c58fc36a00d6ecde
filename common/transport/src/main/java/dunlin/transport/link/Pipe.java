package dunlin.transport.link;

/**
 * An ordered way for frames to the other side, until it breaks. Frames may only be lost by its breaking: what arrives is
 * always the beginning of what was sent.
 *
 * <p>The carrier of frames implements it and tells the {@link Link} or the {@link LinkAcceptor} what happens to it, in
 * this order: connected, arrived any number of times, broken. Pipes are told apart by identity.
 */
public interface Pipe {
  /**
   * Sends a frame, which is not changed afterwards by anybody. Called by the link's owner only. Never blocks, and does not
   * call the link before it has returned; after a break it does nothing.
   */
  void send(byte[] frame);

  /** Who is at the other end, as its carrier has verified; the same at any time. Empty where the carrier verifies nobody. */
  default String caller() {
    return "";
  }

  /** Ends the pipe once what was sent has been written. Called by the link's owner only; a second time it does nothing. */
  void close();
}
