package dunlin.transport.lane;

import dunlin.transport.LaneCredit;

/** Counts what is taken and not given back. */
final class CountedCredit implements LaneCredit {
  int messages;
  long bytes;

  @Override
  public void take(int size) {
    messages++;
    bytes += size;
  }

  @Override
  public void give(int count, long size) {
    messages -= count;
    bytes -= size;
  }

  @Override
  public void allow(long bytesMax) {}
}
