package dunlin.store.node;

import dunlin.store.disk.DataDirectory;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import java.io.File;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.RaftServerConfigKeys.Log;
import org.apache.ratis.server.RaftServerConfigKeys.Read;
import org.apache.ratis.server.RaftServerConfigKeys.Rpc;
import org.apache.ratis.server.RaftServerConfigKeys.Snapshot;
import org.apache.ratis.server.RaftServerConfigKeys.Write;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/** Every key of Ratis that differs from its default, and why. */
final class RatisSettings {
  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;
  private static final TimeDuration NEVER = TimeDuration.valueOf(10_000, TimeUnit.DAYS);

  private RatisSettings() {}

  static RaftProperties of(StoreSettings settings, DataDirectory data) {
    var properties = new RaftProperties();
    // Ratis' own defaults lie in the system's temporary directory.
    RaftServerConfigKeys.setStorageDir(properties, List.of(data.raft().toFile()));
    RaftServerConfigKeys.setRemovedGroupsDir(properties, new File(data.path().toFile(), "raft-removed"));
    elections(properties, settings.cluster());
    log(properties, settings);
    snapshots(properties, settings.cluster());
    network(properties, settings);
    return properties;
  }

  /** Bytes of one log entry as Ratis counts them: ours, and its own envelope around them. */
  static int logEntryBytes(StoreSettings settings) {
    return settings.entries().bytesMax() + KIB;
  }

  private static void elections(RaftProperties properties, ClusterSettings cluster) {
    // At Ratis' 150 to 300 ms a stall of the disk or a collection deposes the leader.
    var timeout = TimeDuration.valueOf(cluster.electionTimeout().toMillis(), TimeUnit.MILLISECONDS);
    Rpc.setTimeoutMin(properties, timeout);
    // A follower checks for its leader only when a random timeout expires. One is running when the leader fails, and
    // the next must pass in silence, so the failure is noticed after up to twice the longest timeout: three times the
    // shortest. When the other follower's log is longer, only that one can be elected; so the longest timeout counts,
    // and not the earlier of both.
    Rpc.setTimeoutMax(properties, timeout.multiply(1.5));
    // A single peer asks no other; it only waits this long before it becomes the leader.
    Rpc.setFirstElectionTimeoutMin(properties, millis(cluster.hasPeers() ? 150 : 20));
    Rpc.setFirstElectionTimeoutMax(properties, millis(cluster.hasPeers() ? 300 : 50));
    Rpc.setRequestTimeout(properties, seconds(5));
    // A process that was paused for longer than the lease must not continue as leader. A single peer has no competitor,
    // so stepping down would only refuse requests for that time.
    RaftServerConfigKeys.LeaderElection.setLeaderStepDownWaitTime(properties, cluster.hasPeers() ? timeout : NEVER);
    // After a pause of a minute Ratis would close itself. Stepping down is enough, as after a shorter pause.
    RaftServerConfigKeys.setCloseThreshold(properties, NEVER);
    // Without the lease a deposed leader answers linearizable reads from a remembered quorum.
    Read.setOption(properties, Read.Option.LINEARIZABLE);
    Read.setLeaderLeaseEnabled(properties, true);
  }

  private static void log(RaftProperties properties, StoreSettings settings) {
    int entryBytes = logEntryBytes(settings);
    // Truncation drops whole segments of the log, and a start reads every one that is left: keep them small. Two are
    // cached.
    long segmentBytes = Math.max(Math.min(8L * MIB, settings.snapshots().logBytes() / 2), 2L * entryBytes);
    Log.setSegmentSizeMax(properties, SizeInBytes.valueOf(segmentBytes));
    Log.setSegmentCacheNumMax(properties, 2);
    Log.setSegmentCacheSizeMax(properties, SizeInBytes.valueOf(2 * segmentBytes));
    // Zeros written ahead by the log's own thread, which stalls the range in that time.
    Log.setPreallocatedSize(properties, SizeInBytes.valueOf(MIB));
    // The largest entry; the off-heap buffer must hold it and its length.
    Log.Appender.setBufferByteLimit(properties, SizeInBytes.valueOf(entryBytes));
    Log.setWriteBufferSize(properties, SizeInBytes.valueOf(entryBytes + KIB));
    // It would cost one more entry and fsync for every commit, only to know the commit index before the first election.
    Log.setLogMetadataEnabled(properties, false);
    // It makes a follower twice as slow, with a pause between appends.
    Log.setAppendEntriesComposeEnabled(properties, false);
    Log.Appender.setWaitTimeMin(properties, millis(0));
    // By default a follower that was away for half a minute is retried every 5 s only, and its log is searched
    // backwards as slowly.
    Log.Appender.setRetryPolicy(properties, "1ms,10, 1s,1000000000");
    // The only way to turn fsync off that keeps the order of writes; async-flush acknowledges entries before they are
    // written.
    Log.setUnsafeFlushEnabled(properties, !settings.fsync());
    // Our own window must be the tighter bound: at these limits Ratis blocks or refuses.
    long windowBytes = Math.max(64L * MIB, 2L * settings.entries().inFlight() * entryBytes);
    Write.setByteLimit(properties, SizeInBytes.valueOf(windowBytes));
    Log.setQueueByteLimit(properties, SizeInBytes.valueOf(windowBytes));
    // The cache keeps an entry per write for this time, without a bound; we never retry under the same id.
    RaftServerConfigKeys.RetryCache.setExpiryTime(properties, seconds(10));
  }

  private static void snapshots(RaftProperties properties, ClusterSettings cluster) {
    // Off by default, but it also makes Ratis truncate the log when it stops. With peers that must not happen, because
    // Ratis may truncate where LogTruncation would not. While Ratis runs, RangeMaintenance decides: Ratis only counts
    // entries, and would ask again after each one for as long as nothing is flushed.
    Snapshot.setAutoTriggerEnabled(properties, !cluster.hasPeers());
    Snapshot.setAutoTriggerThreshold(properties, Long.MAX_VALUE);
    // Snapshots are transferred by our own service, not in Ratis' chunks.
    Log.Appender.setInstallSnapshotEnabled(properties, false);
    // Otherwise a dead peer would prevent truncation of the log. A single peer needs no entry before its snapshot; a
    // follower whose log ends exactly where the leader's begins would be told to install a snapshot for ever: see
    // LogTruncation.
    Log.setPurgeUptoSnapshotIndex(properties, true);
    Log.setPurgePreservationLogNum(properties, cluster.hasPeers() ? cluster.entriesKept() : 0);
    // Entries may be 64 KB and more each: a thousand of them is too long to wait.
    Log.setPurgeGap(properties, 1);
  }

  /** The parameters that Ratis takes as objects and not as keys. */
  static Parameters parameters(StoreSettings settings, PeerCallsOnly calls, PeerCallers callers, @Nullable PeerTls tls) {
    var parameters = new Parameters();
    if (!settings.cluster().hasPeers()) return parameters;
    GrpcConfigKeys.Server.setServicesCustomizer(parameters, calls);
    CheckedGrpc.judgedBy(callers, parameters);
    CheckedGrpc.reachedBy(settings.surroundings(), parameters);
    if (tls != null) GrpcConfigKeys.TLS.setConf(parameters, tls.config());
    return parameters;
  }

  private static void network(RaftProperties properties, StoreSettings settings) {
    var cluster = settings.cluster();
    if (!cluster.hasPeers()) {
      RaftConfigKeys.Rpc.setType(properties, new NoRpc());
      return;
    }
    RaftConfigKeys.Rpc.setType(properties, new CheckedGrpc());
    GrpcConfigKeys.Server.setHost(properties, cluster.bindAddress());
    GrpcConfigKeys.Server.setPort(properties, cluster.port());
    // With Ratis' 8 the entries beyond would wait for a round trip to a follower that is far away. CheckedGrpc bounds the bytes.
    GrpcConfigKeys.Server.setLeaderOutstandingAppendsMax(properties, settings.entries().inFlightMax());
    GrpcConfigKeys.setMessageSizeMax(properties, SizeInBytes.valueOf(logEntryBytes(settings) + 2 * MIB));
  }

  private static TimeDuration seconds(int seconds) {
    return TimeDuration.valueOf(seconds, TimeUnit.SECONDS);
  }

  private static TimeDuration millis(int millis) {
    return TimeDuration.valueOf(millis, TimeUnit.MILLISECONDS);
  }
}
