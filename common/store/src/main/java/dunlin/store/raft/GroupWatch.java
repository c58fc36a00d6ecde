package dunlin.store.raft;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import java.io.IOException;
import java.util.function.Consumer;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Watches whether Ratis still serves a range, and notes on disk whether other nodes have replicas of it. */
final class GroupWatch {
  /*
   * Owner: the maintenance thread.
   * Failure: a group that Ratis has closed counts as failed, unless this node was removed from it.
   */
  private static final Logger log = LoggerFactory.getLogger(GroupWatch.class);
  /** How often in a row the maintenance may find the group closed without a known reason. */
  private static final int CLOSED_PATIENCE = 10;

  private final RangeId id;
  private final DataDirectory data;
  private final Consumer<StoreException> failed;

  private int notRunning;
  private @Nullable Boolean notedOthers;

  GroupWatch(RangeId id, DataDirectory data, Consumer<StoreException> failed) {
    this.id = id;
    this.data = data;
    this.failed = failed;
  }

  /** Whether Ratis still serves the range. A replica that was removed from its group only waits to be dropped. */
  boolean runs(RaftServer server, RaftServer.Division division) {
    var state = division.getInfo().getLifeCycleState();
    boolean whole = server.getLifeCycleState() == LifeCycle.State.RUNNING;
    if (whole && (state == LifeCycle.State.RUNNING || state == LifeCycle.State.STARTING)) {
      notRunning = 0;
      return true;
    }
    // A peer that was removed is closed by Ratis first, and learns of its removal afterwards.
    if (whole && !Membership.alone(division) && ++notRunning < CLOSED_PATIENCE) return false;
    failed.accept(new StoreException("range '" + id + "': Ratis has stopped serving it (" + state + ")"));
    return false;
  }

  /** Notes whether other nodes have the range, for a start after the files are lost. */
  void noteOthers(boolean others) {
    if (notedOthers != null && notedOthers == others) return;
    notedOthers = others;
    try {
      data.notes().write(id, others);
    } catch (IOException e) {
      log.warn("Range {}: whether other nodes have replicas cannot be recorded", id, e);
    }
  }
}
