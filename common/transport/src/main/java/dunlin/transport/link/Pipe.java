package dunlin.transport.link;

/**
 * An ordered channel of frames to the other side, until it breaks. Frames are only lost when it breaks: what arrives is
 * always a prefix of what was sent.
 *
 * <p>The transport implements it and notifies the {@link Link} or the {@link LinkAcceptor} in this order: connected,
 * arrived any number of times, broken. Pipes are compared by identity.
 */
public interface Pipe {
  /**
   * Sends a frame, which is not changed afterwards. Called by the link's owner only. Never blocks, and does not call
   * the link before it has returned; after a break it does nothing.
   */
  void send(byte[] frame);

  /** The peer as verified by the transport; constant, and empty when the transport does not verify peers. */
  default String caller() {
    return "";
  }

  /** Closes the pipe once all sent frames are written. Called by the link's owner only; a second call does nothing. */
  void close();
}
