package dunlin.cluster;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.StoredRows;
import java.nio.file.Path;
import java.util.Collection;
import java.util.UUID;

/**
 * The data directory of a broker that ran alone, and how it becomes that of the founder of a cluster.
 *
 * <p>Nothing is copied or moved: the ranges that a cluster begins with have the same identities in a broker that runs alone, so their logs and rows are already
 * those of a founder. The directory lacks the cluster's identity only. With that, the next start founds the cluster as one that a crash has interrupted, and places the
 * ranges that it finds.
 */
public final class LoneData {
  /*
   * Owner: the calling thread, which holds the lock of the directory.
   * Failure: one file is written, at once. Before that, the directory is what it was; after it, calling this again changes nothing.
   */
  private LoneData() {}

  /**
   * Makes the directory that of a founder. It can then no longer be opened without a cluster.
   *
   * @param begins the ranges that founding the cluster creates
   * @return the identity of the cluster to be founded
   * @throws StoreException when the directory is in use, has other ranges, or belongs to a cluster already
   */
  public static UUID toFounder(Path dataDirectory, Collection<RangeId> begins) {
    try (var stored = StoredRows.open(dataDirectory)) {
      Path own = Cluster.directoryIn(dataDirectory);
      var known = ClusterIdentity.read(own);
      if (known.isPresent()) {
        if (known.get().founding()) return known.get().cluster();
        throw new StoreException("data directory %s belongs to cluster %s already".formatted(dataDirectory, known.get().cluster()));
      }
      var first = begins.stream().map(RangeId::uuid).toList();
      var others = stored.ranges().stream().filter(range -> !first.contains(range)).toList();
      if (!others.isEmpty())
        throw new StoreException("data directory %s has ranges that a cluster does not begin with: %s".formatted(dataDirectory, others));
      if (stored.ranges().isEmpty())
        throw new StoreException("data directory %s has no data yet; start its broker with dunlin.cluster.seeds".formatted(dataDirectory));
      var founder = new ClusterIdentity(UUID.randomUUID(), true);
      founder.write(own);
      return founder.cluster();
    }
  }
}
