package dunlin.store.settings;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * A node's settings for its peers in the cluster.
 *
 * @param port TCP port for Raft, 0 to 65535; 0 opens none: the node can never have peers
 * @param host the name or address by which the others reach this node
 * @param bindAddress where the port is opened, a name or address of this machine
 * @param security how nodes authenticate each other
 * @param electionTimeout silence of a leader after which the others may elect a new one, 300 ms to 1 min. Mostly they
 *     do within three times this. A leader that is paused for longer than this is deposed
 * @param entriesKept log entries that are kept when the log is truncated, for followers that are a little behind, 1 to
 *     10,000,000 and more than twice those in flight. A follower further behind gets a snapshot instead
 * @param installBytesPerSecond the rate at which a snapshot is downloaded, at least 64 KiB a second
 * @param installDeadline time that a download may take, 1 s to 1 day; the next attempt resumes it
 */
public record ClusterSettings(
    int port,
    String host,
    String bindAddress,
    PeerSecurity security,
    Duration electionTimeout,
    int entriesKept,
    long installBytesPerSecond,
    Duration installDeadline) {

  private static final int MIB = 1024 * 1024;

  /** Settings of a node without peers. */
  public static final ClusterSettings NONE = loopback(0);

  public ClusterSettings {
    StoreSettings.within("cluster port", port, 0, 65_535);
    requireNonNull(host);
    requireNonNull(bindAddress);
    requireNonNull(security);
    StoreSettings.within("electionTimeout (ms)", electionTimeout.toMillis(), 300, 60_000);
    // With none kept, a follower that has just installed a snapshot could end exactly where the leader's log begins:
    // RATIS-2500.
    StoreSettings.within("entriesKept", entriesKept, 1, 10_000_000);
    StoreSettings.within("installBytesPerSecond", installBytesPerSecond, 64 * 1024, Long.MAX_VALUE);
    StoreSettings.within("installDeadline (ms)", installDeadline.toMillis(), 1000, Duration.ofDays(1).toMillis());
  }

  /** Settings of a node whose peers run on the same machine. */
  public static ClusterSettings loopback(int port) {
    return at(port, "127.0.0.1", "127.0.0.1", new PeerSecurity.Plaintext(false));
  }

  public static ClusterSettings at(int port, String host, String bindAddress, PeerSecurity security) {
    return new ClusterSettings(
        port, host, bindAddress, security, Duration.ofSeconds(1), 10_000, 64L * MIB, Duration.ofMinutes(10));
  }

  public boolean hasPeers() {
    return port != 0;
  }
}
