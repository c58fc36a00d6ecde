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
    // A follower looks only when a time that it has drawn is over. One is under way when the leader goes, and the next has to pass
    // in silence, so the leader is missed after up to twice the longest: three times the shortest. When the other follower has
    // the longer log, one of these two alone can be elected; that is why the longest counts, and not the earlier of both.
    Rpc.setTimeoutMax(properties, timeout.multiply(1.5));
    // A lone peer asks no other, it only waits this long before it makes itself the leader.
    Rpc.setFirstElectionTimeoutMin(properties, millis(cluster.hasPeers() ? 150 : 20));
    Rpc.setFirstElectionTimeoutMax(properties, millis(cluster.hasPeers() ? 300 : 50));
    Rpc.setRequestTimeout(properties, seconds(5));
    // A Java process that stood still for longer than the lease must not go on as if it had it. No other leads instead of a lone peer,
    // so that would only refuse requests for that time.
    RaftServerConfigKeys.LeaderElection.setLeaderStepDownWaitTime(properties, cluster.hasPeers() ? timeout : NEVER);
    // After a minute Ratis would close itself. Who leads steps down and follows, as after a shorter time: no reason to end.
    RaftServerConfigKeys.setCloseThreshold(properties, NEVER);
    // Without the lease a deposed leader answers linearizable reads from a remembered quorum.
    Read.setOption(properties, Read.Option.LINEARIZABLE);
    Read.setLeaderLeaseEnabled(properties, true);
  }

  private static void log(RaftProperties properties, StoreSettings settings) {
    int entryBytes = logEntryBytes(settings);
    // Cutting the log drops whole segments, and a start reads every one that is left: keep them small. Two are cached.
    long segmentBytes = Math.max(Math.min(8L * MIB, settings.snapshots().logBytes() / 2), 2L * entryBytes);
    Log.setSegmentSizeMax(properties, SizeInBytes.valueOf(segmentBytes));
    Log.setSegmentCacheNumMax(properties, 2);
    Log.setSegmentCacheSizeMax(properties, SizeInBytes.valueOf(2 * segmentBytes));
    // Zeros written ahead by the log's own thread, which stalls the range while it writes them.
    Log.setPreallocatedSize(properties, SizeInBytes.valueOf(MIB));
    // The largest entry; the buffer outside the heap must hold it and its length.
    Log.Appender.setBufferByteLimit(properties, SizeInBytes.valueOf(entryBytes));
    Log.setWriteBufferSize(properties, SizeInBytes.valueOf(entryBytes + KIB));
    // One more entry and fsync for every commit, only to know the commit index before the first election.
    Log.setLogMetadataEnabled(properties, false);
    // Twice as slow at a follower, and a pause between appends.
    Log.setAppendEntriesComposeEnabled(properties, false);
    Log.Appender.setWaitTimeMin(properties, millis(0));
    // By default a follower that was away for half a minute is tried every 5 s only, and goes back through its log as slowly.
    Log.Appender.setRetryPolicy(properties, "1ms,10, 1s,1000000000");
    // The only way to turn fsync off that still orders writes; async-flush acknowledges what is not even written.
    Log.setUnsafeFlushEnabled(properties, !settings.fsync());
    // Our own window must be the narrow place: at these limits Ratis blocks or refuses.
    long windowBytes = Math.max(64L * MIB, 2L * settings.entries().inFlight() * entryBytes);
    Write.setByteLimit(properties, SizeInBytes.valueOf(windowBytes));
    Log.setQueueByteLimit(properties, SizeInBytes.valueOf(windowBytes));
    // One entry per write for the whole time, without a bound; we never retry under the same id.
    RaftServerConfigKeys.RetryCache.setExpiryTime(properties, seconds(10));
  }

  private static void snapshots(RaftProperties properties, ClusterSettings cluster) {
    // Off by default, but it is also what makes Ratis cut the log when it stops; with peers it must not, because it may cut
    // where LogTruncation would not. While it runs, RangeMaintenance decides: Ratis knows only how many entries there are, and would ask again
    // after each one for as long as nothing is flushed.
    Snapshot.setAutoTriggerEnabled(properties, !cluster.hasPeers());
    Snapshot.setAutoTriggerThreshold(properties, Long.MAX_VALUE);
    // Files of a snapshot travel by our own means, not in Ratis' chunks.
    Log.Appender.setInstallSnapshotEnabled(properties, false);
    // Else a dead peer keeps the log from being cut. A lone peer needs no entry behind its snapshot; with followers, one
    // that stood exactly where the log begins would be told to install a snapshot for ever: see LogTruncation.
    Log.setPurgeUptoSnapshotIndex(properties, true);
    Log.setPurgePreservationLogNum(properties, cluster.hasPeers() ? cluster.entriesKept() : 0);
    // Entries may be 64 KB and more each: a thousand of them is too long to wait.
    Log.setPurgeGap(properties, 1);
  }

  /** What Ratis takes as objects and not as keys. */
  static Parameters parameters(StoreSettings settings, PeerCallsOnly calls, PeerCallers callers, @Nullable PeerTls tls) {
    var parameters = new Parameters();
    if (!settings.cluster().hasPeers()) return parameters;
    GrpcConfigKeys.Server.setServicesCustomizer(parameters, calls);
    CheckedGrpc.judgedBy(callers, parameters);
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
    GrpcConfigKeys.setMessageSizeMax(properties, SizeInBytes.valueOf(logEntryBytes(settings) + 2 * MIB));
  }

  private static TimeDuration seconds(int seconds) {
    return TimeDuration.valueOf(seconds, TimeUnit.SECONDS);
  }

  private static TimeDuration millis(int millis) {
    return TimeDuration.valueOf(millis, TimeUnit.MILLISECONDS);
  }
}
