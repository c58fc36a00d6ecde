package dunlin.node;

import dunlin.admin.backup.BackupSource;
import dunlin.broker.users.AccessReplica;
import dunlin.cluster.Cluster;
import dunlin.inbox.server.SessionReplica;
import dunlin.placement.ClusterMap;
import dunlin.retain.RetainReplica;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.remote.RemoteSnapshots;
import dunlin.store.snapshot.SnapshotSource;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a backup is made of: the ranges of sessions, of retained messages, and of users. Without the routes, which each start of the sessions announces anew, and without
 * what is known of the cluster's nodes.
 */
public final class BackupRanges implements BackupSource {
  /*
   * Owner: the thread that makes a backup.
   * Failure: that of the store or of the node that is asked, as an IOException.
   */

  /** Files of the data directory that a new node with this data needs: how sessions are divided, and the time that their ends are measured by. */
  public static final List<String> FILES = List.of(SessionLayout.FILE, ClockFile.NAME);

  private static final List<String> KINDS = List.of(SessionReplica.KIND, RetainReplica.KIND, AccessReplica.KIND);

  private final RangeStore store;
  private final UUID self;
  private final @Nullable Cluster cluster;
  private final @Nullable RemoteSnapshots others;

  private BackupRanges(RangeStore store, @Nullable Cluster cluster, @Nullable RemoteSnapshots others) {
    this.store = store;
    this.cluster = cluster;
    this.others = others;
    self = store.member().node();
  }

  /** The ranges of a broker that runs alone. */
  static BackupRanges alone(RangeStore store) {
    return new BackupRanges(store, null, null);
  }

  /** The ranges of a cluster, wherever they are led. */
  static BackupRanges of(RangeStore store, Cluster cluster, RemoteSnapshots others) {
    return new BackupRanges(store, cluster, others);
  }

  @Override
  public Optional<UUID> cluster() {
    Cluster member = cluster;
    return member == null ? Optional.empty() : member.cluster();
  }

  @Override
  public List<RangeId> ranges() {
    Cluster member = cluster;
    if (member == null) return store.status().stream().map(RangeStatus::range).filter(range -> KINDS.contains(range.kind())).toList();
    return ranges(member.map());
  }

  private static List<RangeId> ranges(ClusterMap map) {
    return KINDS.stream().flatMap(kind -> map.rangesOf(kind).stream().map(range -> new RangeId(kind, range.id()))).toList();
  }

  @Override
  public Optional<UUID> leader(RangeId range) {
    Cluster member = cluster;
    return member == null ? Optional.of(self) : member.leader(range.uuid());
  }

  @Override
  public SnapshotSource snapshots() {
    return new SnapshotSource() {
      @Override
      public Snapshot open(UUID node, RangeId range) throws IOException {
        if (!node.equals(self)) return remote(node).openCurrent(node, range);
        try {
          return store.openCurrentSnapshot(range);
        } catch (StoreException refused) {
          throw new IOException(refused.getMessage(), refused);
        }
      }

      @Override
      public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
        if (!node.equals(self)) return remote(node).read(node, snapshot, file, offset, bytes);
        try {
          return store.readSnapshot(snapshot, file, offset, bytes);
        } catch (StoreException refused) {
          throw new IOException(refused.getMessage(), refused);
        }
      }
    };
  }

  private RemoteSnapshots remote(UUID node) throws IOException {
    RemoteSnapshots source = others;
    if (source == null) throw new IOException("node " + node + " is not this one, which runs alone");
    return source;
  }
}
