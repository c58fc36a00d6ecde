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

/** Whether Ratis still serves a range, and a note on disk of whether others have it, too. */
final class GroupWatch {
  /*
   * Owner: the upkeep thread.
   * Failure: a group that Ratis has closed, and not because this node was taken out of it, has failed.
   */
  private static final Logger log = LoggerFactory.getLogger(GroupWatch.class);
  /** How often in a row the upkeep may find the group closed without a reason. */
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

  /** Whether Ratis still serves the range; one that was taken out of it is left to be dropped. */
  boolean runs(RaftServer server, RaftServer.Division division) {
    var state = division.getInfo().getLifeCycleState();
    boolean whole = server.getLifeCycleState() == LifeCycle.State.RUNNING;
    if (whole && (state == LifeCycle.State.RUNNING || state == LifeCycle.State.STARTING)) {
      notRunning = 0;
      return true;
    }
    // A peer that learns from the others that it is none is closed by Ratis first, and then told so.
    if (whole && !Membership.alone(division) && ++notRunning < CLOSED_PATIENCE) return false;
    failed.accept(new StoreException("range '" + id + "': Ratis has stopped serving it (" + state + ")"));
    return false;
  }

  /** So that the next start knows, should the files be lost, whether others have the range. */
  void noteOthers(boolean others) {
    if (notedOthers != null && notedOthers == others) return;
    notedOthers = others;
    try {
      data.notes().write(id, others);
    } catch (IOException e) {
      log.warn("Range {}: it cannot be noted that it {} replicas on other nodes", id, others ? "has" : "has no", e);
    }
  }
}
