package dunlin.dist;

import java.util.concurrent.Executor;

/** Where the lanes of a dist worker serve their destinations: on their own threads, or beside them. */
public interface DeliveryThreads extends AutoCloseable {
  /**
   * Opens the part of a lane; called on the lane's thread.
   *
   * @param number the lane's number
   * @param thread runs tasks on the lane's thread, in the order of each submitting thread
   */
  OfLane open(int number, Executor thread);

  /** Ends its threads after the last of its lanes, but does not wait for that for ever. Called when all lanes are being closed. */
  @Override
  void close();

  /** The part of a lane; used on the lane's thread only. */
  interface OfLane {
    /**
     * Opens the delivery to a destination. Its copies keep their order, whichever threads serve it.
     *
     * @param destination its number, which is that of all lanes and stays the same when its delivery is replaced
     */
    Delivery open(int destination, Deliveries deliveries);

    /** Announces that the next calls of {@link Delivery#deliver} are for the copies of one message, this many. */
    void copies(int count);

    /** Hands over what was gathered. Called last, when all deliveries are closed. */
    void close();
  }

  /** Serves all destinations on the lanes' own threads. */
  static DeliveryThreads inline() {
    return new DeliveryThreads() {
      @Override
      public OfLane open(int number, Executor thread) {
        return new OfLane() {
          @Override
          public Delivery open(int destination, Deliveries deliveries) {
            return deliveries.open(number, thread);
          }

          @Override
          public void copies(int count) {}

          @Override
          public void close() {}
        };
      }

      @Override
      public void close() {}
    };
  }
}
