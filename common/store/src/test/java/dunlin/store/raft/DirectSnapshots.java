package dunlin.store.raft;

import dunlin.store.RangeId;
import dunlin.store.snapshot.SnapshotSource;
import java.io.IOException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** Transfers snapshots between the open stores of this process. */
public final class DirectSnapshots implements SnapshotSource {
  private final Map<UUID, RangeStore> open = new ConcurrentHashMap<>();

  public void opened(RangeStore store) {
    open.put(store.member().node(), store);
  }

  public void closing(RangeStore store) {
    open.remove(store.member().node());
  }

  @Override
  public Snapshot open(UUID node, RangeId range) throws IOException {
    return at(node).openSnapshot(range);
  }

  @Override
  public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
    return at(node).readSnapshot(snapshot, file, offset, bytes);
  }

  private RangeStore at(UUID node) throws IOException {
    var there = open.get(node);
    if (there == null) throw new IOException("node " + node + " is not there");
    return there;
  }
}
