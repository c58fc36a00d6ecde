package dunlin.dist.deliver;

import java.util.List;

/**
 * The copies for one worker that a lane has gathered in a round.
 *
 * @param copies in the order of the lane; not changed any more
 */
record CopyBatch(List<MessageCopy> copies) implements Runnable {
  /** Serves them, on the worker's thread. */
  @Override
  public void run() {
    for (MessageCopy copy : copies) copy.to().serve(copy);
    for (MessageCopy copy : copies) copy.to().endServing();
  }
}
