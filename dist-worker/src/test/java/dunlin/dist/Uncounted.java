package dunlin.dist;

import dunlin.transport.LaneCredit;

/** Credit that has no bound. */
final class Uncounted implements LaneCredit {
  @Override
  public void take(int size) {}

  @Override
  public void give(int messages, long bytes) {}
}
