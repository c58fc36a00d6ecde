package dunlin.store.snapshot;

import dunlin.store.RangeId;
import dunlin.store.raft.RangeStore;
import java.io.IOException;
import java.util.List;
import java.util.UUID;

/**
 * Where a replica that is too far behind fetches a snapshot: from the range's leader. The transport between nodes
 * implements it; on the other node the calls go to {@link RangeStore#openSnapshot} and {@link
 * RangeStore#readSnapshot}.
 *
 * <p>Calls block, on a thread that may, and throw IOException for any failure; the caller retries.
 */
public interface SnapshotSource {
  /** The largest length of a {@link #read}. */
  int CHUNK_BYTES_MAX = 256 * 1024;

  /**
   * The state of a range at one entry of its log, as files that do not change.
   *
   * @param id stays valid for a few minutes after the last read
   */
  record Snapshot(UUID id, List<File> files) {
    public Snapshot {
      files = List.copyOf(files);
    }
  }

  /** One file; the checksum is CRC-32C over all of it. */
  record File(String name, long bytes, int checksum) {}

  /** Opens a snapshot of the range on that node, a new one or an existing one. */
  Snapshot open(UUID node, RangeId range) throws IOException;

  /** Reads exactly this many bytes of a file. */
  byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException;
}
