package dunlin.transport;

/**
 * Counts the messages in flight of a lane's publishers; beyond a limit the publishers are not read from. Called on the
 * lane's thread only.
 */
public interface LaneCredit {
  /** One more message, of this size. */
  void take(int size);

  /** This many messages fewer, with this total size. */
  void give(int messages, long bytes);

  /**
   * The receiver of the lane allows this many bytes in flight from now on, whatever is in flight already. The lower of
   * this and the lane's own limit holds.
   */
  void allow(long bytesMax);

  /** Counts nothing; for lanes whose messages are bounded by the credit of their senders. */
  static LaneCredit uncounted() {
    return new LaneCredit() {
      @Override
      public void take(int size) {}

      @Override
      public void give(int messages, long bytes) {}

      @Override
      public void allow(long bytesMax) {}
    };
  }
}
