package dunlin.transport;

/** How much of what a lane's publishers sent is on its way; beyond a bound they are not read from. Called on the lane's thread alone. */
public interface LaneCredit {
  /** One message more, of so many bytes. */
  void take(int size);

  /** So many messages fewer, of so many bytes together. */
  void give(int messages, long bytes);
}
