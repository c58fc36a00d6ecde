package dunlin.broker.loop;

import dunlin.transport.LaneCredit;
import java.util.ArrayDeque;

/** The credit of one lane: how much of what its publishers sent may be on its way at a time, in messages and bytes. */
public final class LaneWindow implements LaneCredit {
  /*
   * Owner: the lane's event loop.
   * Bounds: a message is always taken in whole, so what is on its way may pass the window by one read's worth of messages
   *   of one connection. Full: the connection whose message passed the window is not read from, and with it every other
   *   one that publishes, until half of the window is free again; TCP then holds the publishers back. Before that, one that holds more than is
   *   left for all others is not read from: what is sent at once, before anybody could say that it has to wait, leaves room for others.
   *   The bytes are those of the setting, or fewer when the dist tier of another process allows fewer.
   */
  private final int messagesMax;
  private final int bytesOwnMax;

  private final ArrayDeque<Held> held = new ArrayDeque<>();
  private int messages;
  private long bytes;
  private long bytesMax;

  /** A connection that is not read from while the lane is out of credit. */
  public interface Held {
    void creditAgain();
  }

  LaneWindow(int messagesMax, int bytesMax) {
    this.messagesMax = messagesMax;
    this.bytesOwnMax = bytesMax;
    this.bytesMax = bytesMax;
  }

  @Override
  public void take(int size) {
    messages++;
    bytes += size;
  }

  @Override
  public void give(int count, long size) {
    messages -= count;
    bytes -= size;
    assert messages >= 0 && bytes >= 0 : "more credit given back than taken";
    goOn();
  }

  @Override
  public void allow(long allowed) {
    bytesMax = Math.min(bytesOwnMax, allowed);
    goOn();
  }

  private void goOn() {
    if (!held.isEmpty() && messages <= messagesMax / 2 && bytes <= bytesMax / 2) {
      for (int left = held.size(); left > 0; left--) held.remove().creditAgain();
    }
  }

  /** Whether so much of one publisher is more than what is left for all others: then that one is not read from. */
  public boolean isMost(int count, long size) {
    return count > messagesMax - messages || size > bytesMax - bytes;
  }

  public boolean exhausted() {
    return messages >= messagesMax || bytes >= bytesMax;
  }

  /** Lets a connection wait for credit; it is told once. */
  public void hold(Held connection) {
    held.add(connection);
  }

  public int messages() {
    return messages;
  }

  public long bytes() {
    return bytes;
  }

  public int heldConnections() {
    return held.size();
  }
}
