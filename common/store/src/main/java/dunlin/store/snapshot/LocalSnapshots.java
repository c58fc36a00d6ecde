package dunlin.store.snapshot;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.util.UUID;

/** The snapshots of this node's ranges, as the store service reads them for other nodes. Calls may block. */
public interface LocalSnapshots {
  /**
   * Opens a snapshot of a range for a node that is behind.
   *
   * @throws StoreException when there is no such range here, or too many are being fetched
   */
  SnapshotSource.Snapshot openSnapshot(RangeId range);

  /**
   * Makes a new snapshot of a range that this node leads. It has everything that was acknowledged before the call.
   *
   * @throws StoreException when this node does not lead such a range, or too many are being fetched
   */
  SnapshotSource.Snapshot openCurrentSnapshot(RangeId range);

  /**
   * Reads a part of a file that {@link #openSnapshot} has announced.
   *
   * @throws StoreException when the snapshot does not exist any more, or has no such bytes
   */
  byte[] readSnapshot(UUID snapshot, String file, long offset, int bytes);

  /** Those of a node without a store: every call is refused. */
  static LocalSnapshots none() {
    return new LocalSnapshots() {
      @Override
      public SnapshotSource.Snapshot openSnapshot(RangeId range) {
        throw new StoreException("this node has no store, and so no range '" + range + "'");
      }

      @Override
      public SnapshotSource.Snapshot openCurrentSnapshot(RangeId range) {
        return openSnapshot(range);
      }

      @Override
      public byte[] readSnapshot(UUID snapshot, String file, long offset, int bytes) {
        throw new StoreException("this node has no store, and so no snapshot " + snapshot);
      }
    };
  }
}
