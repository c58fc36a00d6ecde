package dunlin.admin.backup;

import dunlin.store.RangeId;
import dunlin.store.snapshot.SnapshotSource;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** The ranges that a backup is made of, and who has them. */
public interface BackupSource {
  /** Empty for a broker that runs alone. */
  Optional<UUID> cluster();

  /** As this node knows them now; none while it is starting. */
  List<RangeId> ranges();

  /** The node that leads a range; empty while that is unknown. */
  Optional<UUID> leader(RangeId range);

  /** Opens new snapshots at the leaders of ranges, which have all that was acknowledged before. */
  SnapshotSource snapshots();
}
