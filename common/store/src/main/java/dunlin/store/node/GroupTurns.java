package dunlin.store.node;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * Lets one thread at a time append entries to the log of a Raft group.
 *
 * <p>A leader sends entries over one stream, and begins another when that breaks or stands still. A node that goes on after a pause reads both. Ratis fails an append that comes during
 * another one, and counts the failed one as in progress for ever. A follower with an append in progress begins no election. Heartbeats, which have a stream of their own, append nothing
 * and do not wait here.
 */
final class GroupTurns {
  /*
   * Owner: any thread of gRPC, which waits for those before it. An append takes as long as its entries need to get into the queue of the log; if this node is a candidate, it first waits
   * for the election to end, for an election timeout at most.
   * Bounds: a lock for each of the first GROUPS_MAX groups that peers name, and one for all others together.
   */
  private static final int GROUPS_MAX = 4_096;

  private final Map<ByteString, ReentrantLock> locks = new ConcurrentHashMap<>();
  private final ReentrantLock others = new ReentrantLock();

  /** Runs an append of a group when no other one of that group runs. */
  void run(ByteString group, Runnable append) {
    var lock = of(group);
    lock.lock();
    try {
      append.run();
    } finally {
      lock.unlock();
    }
  }

  private ReentrantLock of(ByteString group) {
    var known = locks.get(group);
    if (known != null) return known;
    return locks.size() < GROUPS_MAX ? locks.computeIfAbsent(group, _ -> new ReentrantLock()) : others;
  }
}
