package dunlin.store.snapshot;

import dunlin.store.RangeId;
import java.io.IOException;
import java.util.UUID;

/** Fetches snapshots by the source that the store was given; fails while there is none. */
public final class SnapshotCarrier implements SnapshotSource {
  private volatile SnapshotSource by = new Nothing();

  public void use(SnapshotSource source) {
    by = source;
  }

  @Override
  public Snapshot open(UUID node, RangeId range) throws IOException {
    return by.open(node, range);
  }

  @Override
  public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
    return by.read(node, snapshot, file, offset, bytes);
  }

  private static final class Nothing implements SnapshotSource {
    @Override
    public Snapshot open(UUID node, RangeId range) throws IOException {
      throw new IOException("this node has no source for snapshots");
    }

    @Override
    public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
      throw new IOException("this node has no source for snapshots");
    }
  }
}
