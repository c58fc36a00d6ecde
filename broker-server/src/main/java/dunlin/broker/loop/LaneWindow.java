package dunlin.broker.loop;

import dunlin.transport.LaneCredit;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;

/** The credit of one lane: bounds the messages and bytes of its publishers that may be in flight at a time. */
public final class LaneWindow implements LaneCredit {
  /*
   * Owner: the lane's event loop.
   * Bounds: a message is always accepted as a whole, and none of a client while the window is exhausted, so those of clients may exceed it by one. Copies for groups and wide fan-outs, and what the
   * application publishes, take credit without asking. Full: no
   * connection that publishes is read from until half of the window is free again; TCP then holds the publishers back. Before that,
   * a publisher that holds more than is left for all others is not read from. So messages that are sent at once, before
   * their publisher could be told to wait, leave room for others. The same holds for all publishers of a tenant together while other tenants publish on the lane, too.
   * A tenant has an entry while it has publishers on the lane.
   * The bytes are those of the setting, or fewer when the dist tier of another process allows fewer.
   */
  private final int messagesMax;
  private final int bytesOwnMax;

  private final LinkedHashSet<Held> held = new LinkedHashSet<>();
  private final Map<String, Share> shares = new HashMap<>();
  private int messages;
  private long bytes;
  private long bytesMax;

  /** A connection that is not read from while the lane is out of credit. */
  public interface Held {
    void creditAgain();
  }

  /** What the publishers of one tenant hold. */
  public final class Share {
    private final String tenant;
    private int publishers;
    private int messages;
    private long bytes;

    private Share(String tenant) {
      this.tenant = tenant;
    }

    /** Takes credit of the lane; see {@link LaneWindow#take}. */
    public void take(int size) {
      messages++;
      bytes += size;
      LaneWindow.this.take(size);
    }

    /** Returns the credit of one message. */
    public void give(int size) {
      messages--;
      bytes -= size;
      assert messages >= 0 && bytes >= 0 : "more credit returned than taken";
      LaneWindow.this.give(1, size);
    }

    /** Whether the tenant is not the only one, and holds more than is left for all others; then its publishers are not read from. */
    public boolean isMost() {
      return shares.size() > 1 && LaneWindow.this.isMost(messages, bytes);
    }

    /** A publisher has ended; what it holds is returned to this share all the same. */
    public void leave() {
      publishers--;
      assert publishers >= 0 : "more publishers left than joined: " + tenant;
      if (publishers == 0) shares.remove(tenant, this);
    }
  }

  LaneWindow(int messagesMax, int bytesMax) {
    this.messagesMax = messagesMax;
    this.bytesOwnMax = bytesMax;
    this.bytesMax = bytesMax;
  }

  /** The share of a tenant, for one more publisher, which must leave it. */
  public Share join(String tenant) {
    var share = shares.computeIfAbsent(tenant, Share::new);
    share.publishers++;
    return share;
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
      for (int left = held.size(); left > 0; left--) held.removeFirst().creditAgain();
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

  /** A connection has ended that may wait for credit. */
  public void forget(Held connection) {
    held.remove(connection);
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
