package dunlin.broker.connect;

import dunlin.inbox.KeptConnections.Owner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Compares the connections of one event loop with those that the sessions of a range name, see {@link dunlin.inbox.KeptConnections}. */
final class TierComparison {
  /*
   * A connection that is there with the session that the tier names is marked with the number of the comparison. At the end, one without the mark is
   * ended: with 0x8E when another connection has its session by now, and the tier was replaced before it told so; and with 0x89 when the tier treated
   * it as lost. The tier is asked which it is. A connection that is opened has the mark of the last comparison, since the tier has answered its CONNECT
   * after that. All of this and the answers to CONNECT come to the loop from the links' thread, in their order.
   *
   * Owner: the event loop.
   * Bounds: the loop asks about and ends SLICE connections at a time, or has their inboxes read, and does its other work in between. READS_MAX inboxes
   *   are read again at a time; the others wait for PAUSE_MILLIS.
   * Failure: when the next comparison begins, this one goes no further. A connection that the tier gives no answer about is ended as a lost one.
   */
  private static final int SLICE = 256;
  private static final int READS_MAX = 256;
  private static final int PAUSE_MILLIS = 10;

  private final LoopConnections home;
  private final int range;

  /**
   * The number of the last comparison. It is used again after 255 others. A mark would be that old only if all of these failed: the first one that succeeds
   * ends the connections that it has not marked.
   */
  private byte number;

  /** @param range the number of the range; connections to sessions of others are left alone */
  TierComparison(LoopConnections home, int range) {
    this.home = home;
    this.range = range;
  }

  /** The mark of a connection that is known to the session tier now. */
  byte mark() {
    return number;
  }

  void begin() {
    number++;
  }

  /** Marks connections, and answers which are not there. One of whose end the session tier is still to be told counts as there. */
  List<Long> missing(List<Owner> owners) {
    var missing = new ArrayList<Long>(0);
    for (Owner owner : owners) {
      Connection there = home.table().get(owner.connection());
      if (there != null && there.isOwner(owner.epoch())) there.mark(number);
      else if (!home.reception().isLeaving(owner.connection())) missing.add(owner.connection());
    }
    return missing;
  }

  void end() {
    var all = home.table().copy();
    endOthers(all, 0, number);
    readAgain(all, 0, number);
  }

  private void endOthers(@Nullable Connection[] all, int from, byte of) {
    if (of != number) return;
    int end = Math.min(from + SLICE, all.length);
    var ended = new ArrayList<CompletableFuture<Void>>(0);
    for (int i = from; i < end; i++) {
      Connection each = all[i];
      if (each != null && each.hasSession() && each.range() == range && each.mark() != of) ended.add(end(each));
    }
    if (end == all.length) return;
    Runnable goesOn = () -> endOthers(all, end, of);
    if (ended.isEmpty()) home.loop().post(goesOn);
    else CompletableFuture.allOf(ended.toArray(CompletableFuture<?>[]::new)).thenRun(() -> home.loop().post(goesOn));
  }

  private CompletableFuture<Void> end(Connection other) {
    return other.isTakenOver().exceptionally(_ -> false).thenAccept(takenOver -> home.loop().post(() -> end(other, takenOver)));
  }

  private void end(Connection other, boolean takenOver) {
    if (other.mark() == number) return; // a later comparison has found its session
    if (takenOver) other.takenOver();
    else other.sessionTierLost();
  }

  private void readAgain(@Nullable Connection[] all, int from, byte of) {
    if (of != number) return;
    int at = from;
    for (; at < all.length && at < from + SLICE && home.sessions().readsAgain() < READS_MAX; at++) {
      Connection each = all[at];
      if (each != null && each.range() == range && each.mark() == of) each.readAgain();
    }
    int next = at;
    if (next == all.length) return;
    Runnable goesOn = () -> readAgain(all, next, of);
    if (next < from + SLICE) home.loop().executor().schedule(goesOn, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
    else home.loop().post(goesOn);
  }
}
