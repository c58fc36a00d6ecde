package dunlin.broker.loop;

import dunlin.transport.LaneCredit;
import java.util.ArrayDeque;

/** The credit of one lane: bounds the messages and bytes of its publishers that may be in flight at a time. */
public final class LaneWindow implements LaneCredit {
  /*
   * Owner: the lane's event loop.
   * Bounds: a message is always accepted as a whole, so the messages in flight may exceed the window by the messages of
   * one read of one connection. Full: the connection whose message exceeded the window is not read from, nor is any
   * other one that publishes, until half of the window is free again; TCP then holds the publishers back. Before that,
   * a publisher that holds more than is left for all others is not read from. So messages that are sent at once, before
   * their publisher could be told to wait, leave room for others.
   * The bytes are those of the setting, or fewer when the dist tier of another process allows fewer.
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
    assert messages >= 0 && bytes >= 0 : "more credit returned than taken";
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

  /** Whether one publisher holds more than is left for all others; then it is not read from. */
  public boolean isMost(int count, long size) {
    return count > messagesMax - messages || size > bytesMax - bytes;
  }

  public boolean exhausted() {
    return messages >= messagesMax || bytes >= bytesMax;
  }

  /** Lets a connection wait for credit; it is notified once. */
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
