package dunlin.store.raft;

import static java.util.Objects.requireNonNull;

import dunlin.store.OutdatedException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.Placed;
import dunlin.store.disk.RocksRange;
import dunlin.store.disk.RowsDirectory;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Splits a range in two, and lets a range that was split off confirm in its own log where its rows come from. */
final class RangeSplits {
  /*
   * Owner: any thread proposes, which blocks, or confirms; the split is carried out on the applying thread, which alone
   * writes rows.
   * Bounds: one pending confirmation at a time, on a thread of its own; a thread for each split until the logic has settled, or the replica is over.
   * Failure: a child that a crash has left unfinished is deleted when the entry is applied again; a confirmation that
   * fails is proposed again by the next maintenance. A logic that has not settled works, and takes more memory.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeSplits.class);
  private static final Duration BASE_DEADLINE = Duration.ofSeconds(10);

  private final RangeId id;
  private final DataDirectory data;
  private final ControlProposals controls;
  private final Supplier<@Nullable RangeDescriptor> descriptor;
  private final RangeLogic<?, ?> logic;
  private final String settling;
  private final BooleanSupplier over;
  private final Consumer<RangeDescriptor> listener;
  private final AtomicBoolean basing = new AtomicBoolean();

  /**
   * @param descriptor the range's current descriptor; null before it was placed
   * @param settling the name of a thread on which the logic settles
   * @param over whether the replica has failed or is closed
   * @param listener receives what has been split off, and this range's descriptor once its rows are confirmed
   */
  RangeSplits(
      RangeId id,
      RaftGroupId group,
      DataDirectory data,
      Supplier<@Nullable RangeDescriptor> descriptor,
      RangeLogic<?, ?> logic,
      String settling,
      BooleanSupplier over,
      Consumer<RangeDescriptor> listener) {
    this.id = id;
    this.data = data;
    this.descriptor = descriptor;
    this.logic = logic;
    this.settling = settling;
    this.over = over;
    this.listener = listener;
    controls = new ControlProposals(id, group);
  }

  /** As leader, splits off everything from the cut upwards, and waits for that. */
  void propose(RaftServer server, long epoch, byte[] cut, UUID child, Duration deadline) {
    var before = descriptor.get();
    if (before == null) throw new OutdatedException("range '" + id + "' was not placed and cannot be split");
    if (before.epoch() != epoch || !before.keys().splitsAt(cut) || !RangeId.isOf(id.kind(), child))
      throw new OutdatedException("range '" + id + "' is " + before + ", which cannot be split at epoch " + epoch);
    controls.proposeAndTell(server, new ControlEntry.Split(epoch, cut, child), deadline);
    var after = descriptor.get();
    if (after == null || after.epoch() != epoch + 1 || !Arrays.equals(after.keys().end(), cut))
      throw new OutdatedException("range '" + id + "' has become " + after);
  }

  /** Called on the applying thread. */
  void carryOut(RocksRange rows, RangeDescriptor lower, RangeDescriptor upper, LogPosition at) throws IOException {
    long begun = System.nanoTime();
    byte[] cut = upper.keys().start();
    var child = new RangeId(upper.kind(), upper.id());
    if (!data.holds(child)) {
      var made = new RowsDirectory(data.rows(child));
      GroupStorage.deleteTree(made.splitting());
      rows.copyUpper(made.splitting(), cut, Placed.begin(upper));
      synchronized (data) { // no replica of the child may be created in between
        if (data.holds(child)) GroupStorage.deleteTree(made.splitting());
        else made.completeSplit(upper);
      }
    }
    long copied = System.nanoTime();
    rows.dropUpper(cut, requireNonNull(rows.placed()).with(lower), at);
    long dropped = System.nanoTime();
    logic.cut(rows, cut);
    log.info(
        "Range {}: split at entry {}; {} now has the keys {}; it took {} ms to copy its rows, {} ms to drop them here, {} ms to divide what is in memory",
        id, at.index(), child, upper.keys(), millis(begun, copied), millis(copied, dropped), millis(dropped, System.nanoTime()));
    settle();
    listener.accept(upper);
  }

  private static long millis(long fromNanos, long toNanos) {
    return TimeUnit.NANOSECONDS.toMillis(toNanos - fromNanos);
  }

  /** Opens the logic of a range that was split off with what its parent's logic has kept of the rows, if nothing was applied to them since; whether it could. */
  boolean open(RangeLogic<?, ?> parent, RocksRange rows) {
    var placed = rows.placed();
    boolean opened = placed != null && rows.written().index() < 0 && logic.openSplit(parent, placed.range().keys().start());
    if (opened) settle();
    return opened;
  }

  /** Has the logic do what a split has left for later. */
  private void settle() {
    Thread.ofPlatform()
        .daemon()
        .name(settling)
        .start(
            () -> {
              long begun = System.nanoTime();
              try {
                logic.settle(over);
                long took = millis(begun, System.nanoTime());
                if (took > 0 && !over.getAsBoolean()) log.info("Range {}: what it has in memory was divided in {} ms, while it served", id, took);
              } catch (RuntimeException e) { // a bug: the range goes on with what it has
                log.error("Range {}: what it has in memory is not divided, and takes more memory than it should", id, e);
              }
            });
  }

  /** Called on the applying thread. */
  void confirmed() {
    var now = descriptor.get();
    if (now != null) listener.accept(now);
  }

  /** Proposes the entry that confirms the origin of a split-off range's rows, on a thread of this name, unless one is pending. */
  void confirmBase(RaftServer server, String threadName) {
    var now = descriptor.get();
    var origin = now == null ? null : now.split();
    if (origin == null || !basing.compareAndSet(false, true)) return;
    Thread.ofPlatform()
        .daemon()
        .name(threadName)
        .start(
            () -> {
              try {
                controls.propose(server, new ControlEntry.Base(origin), BASE_DEADLINE);
              } catch (StoreException e) {
                log.info("Range {}: the origin of its rows is not in its log yet: {}", id, e.getMessage());
              } finally {
                basing.set(false);
              }
            });
  }
}
