package dunlin.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The means for trials on this machine, and the sites of their nodes. */
public final class Stage implements AutoCloseable {
  /*
   * Owner: the thread of the trials.
   */
  /** The most nodes of a trial. */
  private static final int SITES_MAX = 10;

  /** The most of them that have a network of their own. */
  private static final int NETWORKED_MAX = 7;

  private static final String LOOPBACK = "127.0.0.1";
  private static final int RAFT_PORT = 7000;
  private static final int SERVICE_PORT = 7001;
  // Below the ephemeral ports, so that a restarted node gets its port again.
  private static final int LOWEST_PORT = 20_000;
  private static final int HIGHEST_PORT = 30_000;

  private final @Nullable Path programs;
  private final Set<Need> offers;
  private final @Nullable Links links;
  private final Random random;
  private final Set<Integer> taken = new HashSet<>();

  /**
   * @param programs the directory of the built programs of src/main/c; null when they are not built
   * @param offers what trials can have: nothing without the programs, and a network or disks only as root in namespaces of
   *     its own
   */
  public Stage(@Nullable Path programs, Set<Need> offers, Random random) {
    this.programs = programs;
    this.random = random;
    this.offers = offers;
    links = offers.contains(Need.NETWORK) ? new Links(program("links"), NETWORKED_MAX) : null;
  }

  public boolean offers(Set<Need> needs) {
    return offers.containsAll(needs);
  }

  public Links links() {
    if (links == null) throw new IllegalStateException("this stage has no network of its own");
    return links;
  }

  /** Sites for the nodes of one trial with equal nodes, in an empty directory. */
  public List<Site> sites(Path directory, Set<Need> needs) {
    return sites(directory, needs, Cluster.NODES);
  }

  /**
   * The same for another number of nodes.
   *
   * @param count 10 at most; 7 with a network of their own
   */
  public List<Site> sites(Path directory, Set<Need> needs, int count) {
    int most = needs.contains(Need.NETWORK) ? NETWORKED_MAX : SITES_MAX;
    if (count > most) throw new IllegalArgumentException("a stage has sites for " + most + " nodes, not for " + count);
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    var sites = new ArrayList<Site>();
    for (int port = 1; port <= count; port++) sites.add(site(directory, "n" + port, port, needs));
    return sites;
  }

  private Site site(Path directory, String name, int port, Set<Need> needs) {
    boolean network = needs.contains(Need.NETWORK);
    var clock = needs.contains(Need.CLOCK) ? new ClockFault(program("clock.so"), directory.resolve(name + ".clock")) : null;
    var fsync = needs.contains(Need.FSYNC) ? new FsyncFault(program("fsync.so"), directory.resolve(name + ".fsync")) : null;
    var disk =
        needs.contains(Need.DISK)
            ? new LoopDisk(directory.resolve(name + ".image"), directory.resolve(name), program("powercut"))
            : null;
    return new Site(
        name,
        network ? Links.address(port) : LOOPBACK,
        network ? RAFT_PORT : freePort(),
        network ? SERVICE_PORT : freePort(),
        disk == null ? directory.resolve(name) : disk.data(),
        directory.resolve(name + ".log"),
        network ? links().prefix(port) : List.of(),
        environment(fsync, clock),
        network ? port : 0,
        fsync,
        clock,
        disk);
  }

  private static Map<String, String> environment(@Nullable FsyncFault fsync, @Nullable ClockFault clock) {
    if (fsync != null && clock != null) throw new IllegalArgumentException("a process has one preloaded library");
    if (clock != null) return clock.environment();
    return fsync == null ? Map.of() : fsync.environment();
  }

  private Path program(String name) {
    if (programs == null) throw new IllegalStateException(name + " was not built");
    return programs.resolve(name);
  }

  private int freePort() {
    while (true) {
      int port = random.nextInt(LOWEST_PORT, HIGHEST_PORT);
      if (!taken.add(port)) continue;
      try (var socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (IOException e) {
        // In use by another process.
      }
    }
  }

  @Override
  public void close() {
    if (links != null) links.close();
  }
}
