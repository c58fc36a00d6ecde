package dunlin.transport.lane;

import java.util.concurrent.atomic.AtomicLong;

/** What has become of the messages of one stream; what is dropped is counted by {@link UnacknowledgedDrops}. */
final class StreamAccount {
  /*
   * Owner: the stream's thread counts, with plain additions; any thread reads. One that is shared is counted by any thread, for what is no matter of a stream that is
   * open.
   */
  private final boolean shared;
  private final AtomicLong received = new AtomicLong();
  private final AtomicLong delivered = new AtomicLong();
  private final AtomicLong returned = new AtomicLong();
  private final AtomicLong unanswered = new AtomicLong();

  StreamAccount(boolean shared) {
    this.shared = shared;
  }

  void received() {
    add(received, 1);
    add(unanswered, 1);
  }

  /** The other side has answered for it. */
  void delivered() {
    settled(delivered);
  }

  /** Its sender gets an error. */
  void returned() {
    settled(returned);
  }

  /** It is lost, and counted so elsewhere. */
  void dropped() {
    add(unanswered, -1);
  }

  private void settled(AtomicLong as) {
    add(as, 1);
    add(unanswered, -1);
  }

  private void add(AtomicLong count, long more) {
    if (shared) count.getAndAdd(more);
    else count.setOpaque(count.getPlain() + more);
  }

  LinkAccount reading() {
    return new LinkAccount(received.getOpaque(), delivered.getOpaque(), returned.getOpaque(), 0, unanswered.getOpaque());
  }
}
