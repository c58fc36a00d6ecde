package dunlin.store.node;

import java.util.concurrent.locks.ReentrantLock;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * Lets one thread at a time append for a Raft group.
 *
 * <p>A leader sends appends over one stream, and begins another when the first one breaks or stands still. When this node goes on after a pause, it reads both. Ratis fails an append
 * during which another one comes, and counts the failed one as in progress for ever. A follower with an append in progress begins no election.
 */
final class GroupTurns {
  /*
   * Owner: any thread, which waits for those before it; an append takes as long as its entries need to get into the queue of the log.
   * Bounds: LOCKS, however many groups callers name. Groups with the same lock wait for each other.
   */
  private static final int LOCKS = 64;

  private final ReentrantLock[] locks = new ReentrantLock[LOCKS];

  GroupTurns() {
    for (int i = 0; i < LOCKS; i++) locks[i] = new ReentrantLock();
  }

  /** Runs an append of a group when no other one of that group runs. */
  void run(ByteString group, Runnable append) {
    var lock = locks[Math.floorMod(group.hashCode(), LOCKS)];
    lock.lock();
    try {
      append.run();
    } finally {
      lock.unlock();
    }
  }
}
