package dunlin.store.snapshot;

import dunlin.store.RangeId;
import dunlin.store.raft.RangeStore;
import java.io.IOException;
import java.util.List;
import java.util.UUID;

/**
 * Where a replica that is too far behind fetches a copy of a range's rows: from the node that leads it. Whoever carries
 * the calls to other nodes implements it; there they end at {@link RangeStore#openCheckpoint} and
 * {@link RangeStore#readCheckpoint}.
 *
 * <p>Calls block, on a thread that may, and throw IOException for whatever does not work: it is tried again.
 */
public interface CheckpointSource {
  /** Most bytes that one {@link #read} asks for. */
  int CHUNK_BYTES_MAX = 256 * 1024;

  /**
   * The state of a range at one entry of its log, as files that do not change.
   *
   * @param id lives for a few minutes after the last read
   */
  record Checkpoint(UUID id, List<File> files) {
    public Checkpoint {
      files = List.copyOf(files);
    }
  }

  /** One file; the checksum is CRC-32C over all of it. */
  record File(String name, long bytes, int checksum) {}

  /** A checkpoint of the range on that node, a new one or one that is still there. */
  Checkpoint open(UUID node, RangeId range) throws IOException;

  /** Exactly so many bytes of a file. */
  byte[] read(UUID node, UUID checkpoint, String file, long offset, int bytes) throws IOException;
}
