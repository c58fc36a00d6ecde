package dunlin.store.snapshot;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.util.UUID;

/** The checkpoints of this node's ranges, as the store service reads them for other nodes. Calls may block. */
public interface LocalCheckpoints {
  /**
   * A copy of a range's rows for a node that is behind.
   *
   * @throws StoreException when there is no such range here, or too many are being fetched
   */
  CheckpointSource.Checkpoint openCheckpoint(RangeId range);

  /**
   * Bytes of a file that {@link #openCheckpoint} has announced.
   *
   * @throws StoreException when it is not there any more, or has no such bytes
   */
  byte[] readCheckpoint(UUID checkpoint, String file, long offset, int bytes);
}
