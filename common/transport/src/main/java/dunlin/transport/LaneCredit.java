package dunlin.transport;

/** How much of what a lane's publishers sent is on its way; beyond a bound they are not read from. Called on the lane's thread alone. */
public interface LaneCredit {
  /** One message more, of so many bytes. */
  void take(int size);

  /** So many messages fewer, of so many bytes together. */
  void give(int messages, long bytes);

  /** Counts nothing: of lanes whose messages are bounded by the credit of those who have sent them. */
  static LaneCredit uncounted() {
    return new LaneCredit() {
      @Override
      public void take(int size) {}

      @Override
      public void give(int messages, long bytes) {}
    };
  }
}
