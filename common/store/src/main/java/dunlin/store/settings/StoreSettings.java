package dunlin.store.settings;

import static java.util.Objects.requireNonNull;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import dunlin.runtime.Surroundings;
import java.time.Duration;
import java.util.List;

/**
 * How the ranges of one process are stored. Every bound is per range unless it says otherwise.
 *
 * @param fsync whether an entry counts as durable only after it was forced to disk. False survives a crash of the
 *     process, not the loss of power of a majority: acknowledged commands can then be gone
 * @param cluster the settings for peers
 * @param memoryBytes RocksDB's memory over all ranges of the process, block cache and write buffers together, at
 *     least 8 MiB
 * @param disk how much of the disk must stay free
 * @param queue what may wait for the log
 * @param entries how commands are packed into log entries
 * @param snapshots when the rows are flushed and the log is truncated
 * @param reads threads that read rows
 * @param surroundings what a test may replace of the machine
 */
public record StoreSettings(
    boolean fsync,
    ClusterSettings cluster,
    long memoryBytes,
    Disk disk,
    Queue queue,
    Entries entries,
    Snapshots snapshots,
    Reads reads,
    Surroundings surroundings) {

  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;
  private static final long MOST = 1L << 40;

  public static final Setting<Boolean> FSYNC =
      Setting.flag(
          "dunlin.store.fsync",
          true,
          "Whether the log is forced to disk before a message is acknowledged. If false, a power loss can lose acknowledged messages,"
              + " and can leave a broker that runs alone with data that it does not start with.");
  private static final Setting<Long> MEMORY =
      Setting.bytes("dunlin.store.memory", 64L * MIB, 8L * MIB, MOST, "Memory for RocksDB's block cache and write buffers, for all"
          + " ranges of the node together.");
  private static final Setting<Long> DISK_FREE_MIN =
      Setting.bytes(
          "dunlin.store.disk-free-min", 0, 0, MOST,
          "Minimum free space on the data directory's disk. Below it the node stores no new data, until a quarter more than this is free. Operations that"
              + " free space continue. 0 means 1 GiB, or a twentieth of the disk if that is smaller than 20 GiB.");
  private static final Setting<Long> DISK_CRITICAL_MIN =
      Setting.bytes(
          "dunlin.store.disk-critical-min", 0, 0, MOST,
          "Free space below which the node stops freeing space as well, until a quarter more than this is free. The space between this and"
              + " `dunlin.store.disk-free-min` is a reserve for acknowledgements, removals and expiry. 0 means half of `dunlin.store.disk-free-min`.");
  private static final Setting<Integer> SNAPSHOT_ENTRIES =
      Setting.integer(
          "dunlin.store.snapshot-entries", 20_000, 1, 10_000_000,
          "Maximum number of log entries between snapshots of a range. A snapshot flushes the rows and truncates the log.");
  private static final Setting<Duration> SNAPSHOT_AGE =
      Setting.duration(
          "dunlin.store.snapshot-age", Duration.ofMinutes(1), Duration.ofSeconds(1), Duration.ofDays(1),
          "Maximum time between snapshots of a range.");

  /** The settings that are read here; the others are constants. */
  public static final List<Setting<?>> ALL = List.of(FSYNC, MEMORY, DISK_FREE_MIN, DISK_CRITICAL_MIN, SNAPSHOT_ENTRIES, SNAPSHOT_AGE);

  /** Entries of Ratis itself and control entries, beside those in flight. */
  private static final int ENTRIES_BESIDE = 8;

  /**
   * How much of the data directory's disk must stay free; for the whole process.
   *
   * @param freeMin bytes; with less, only commands that free space or need none are accepted ({@link
   *     dunlin.store.CommandKind#RELEASE}), until there is a quarter more than this. 0 means 1 GiB, or a twentieth of a
   *     disk that is smaller than 20 GiB
   * @param criticalMin bytes; with less, no commands at all are accepted. The space between the two is the reserve for
   *     freeing space. 0 means half of freeMin; a value above freeMin counts as freeMin
   */
  public record Disk(long freeMin, long criticalMin) {
    public Disk {
      within("disk.freeMin", freeMin, 0, Long.MAX_VALUE);
      within("disk.criticalMin", criticalMin, 0, Long.MAX_VALUE);
    }
  }

  /**
   * Bounds on commands that wait for the log. A quarter of both is kept for commands that are not a FLOW ({@link
   * dunlin.store.CommandKind}).
   *
   * @param commandsMax commands, 4 to 1,048,576, rounded up to a power of two; one more is refused
   * @param bytesMax their bytes, at least four times the largest entry, so that the largest FLOW command fits when half
   *     is free; more are refused
   */
  public record Queue(int commandsMax, long bytesMax) {
    public Queue {
      within("queue.commandsMax", commandsMax, 4, 1 << 20);
    }
  }

  /**
   * How commands are packed into log entries.
   *
   * @param inFlight entries proposed and not yet applied, 1 to 64; more when these are not full, see {@link #inFlightMax}
   * @param commandsMax commands packed into one entry, 1 to 4,096
   * @param fullAt bytes at which an entry is full, 1 KiB to bytesMax; a larger command is an entry alone
   * @param bytesMax largest entry and so about the largest command, 64 KiB to 16 MiB; costs each range a write buffer of this size
   *     outside the heap
   */
  public record Entries(int inFlight, int commandsMax, int fullAt, int bytesMax) {
    public Entries {
      within("entries.inFlight", inFlight, 1, 64);
      within("entries.commandsMax", commandsMax, 1, 4096);
      within("entries.bytesMax", bytesMax, 64 * KIB, 16 * MIB);
      within("entries.fullAt", fullAt, KIB, bytesMax);
    }

    /** Entries proposed and not yet applied while these have together no more commands and bytes than {@code inFlight} full ones. */
    public int inFlightMax() {
      return 2 * inFlight;
    }
  }

  /**
   * When the rows are flushed and the log is truncated: at the first of these limits.
   *
   * @param entries log entries since the last time, 1 to 10,000,000
   * @param logBytes bytes of log entries, at least 64 KiB. Bounds what a restart after a crash replays
   * @param age time, when anything was applied since, at least 1 s
   */
  public record Snapshots(int entries, long logBytes, Duration age) {
    public Snapshots {
      within("snapshots.entries", entries, 1, 10_000_000);
      within("snapshots.logBytes", logBytes, 64 * KIB, Long.MAX_VALUE);
      within("snapshots.age (ms)", age.toMillis(), 1000, Long.MAX_VALUE);
    }
  }

  /**
   * Threads that read rows.
   *
   * @param threads how many, 1 to 64
   * @param queuedMax tasks that wait for one, 1 to 1,048,576; one more throws RejectedExecutionException
   */
  public record Reads(int threads, int queuedMax) {
    public Reads {
      within("reads.threads", threads, 1, 64);
      within("reads.queuedMax", queuedMax, 1, 1 << 20);
    }
  }

  /** In the surroundings of the machine. */
  public StoreSettings(
      boolean fsync, ClusterSettings cluster, long memoryBytes, Disk disk, Queue queue, Entries entries, Snapshots snapshots, Reads reads) {
    this(fsync, cluster, memoryBytes, disk, queue, entries, snapshots, reads, Surroundings.machine());
  }

  public StoreSettings {
    requireNonNull(cluster);
    within("memoryBytes", memoryBytes, 8 * MIB, Long.MAX_VALUE);
    within("queue.bytesMax", queue.bytesMax(), 4L * entries.bytesMax(), Long.MAX_VALUE);
    // A snapshot must end behind the uncommitted tail of an old leader's log: Ratis would keep the part of that tail up
    // to the snapshot's end as if it were committed.
    within("cluster.entriesKept", cluster.entriesKept(), 2L * entries.inFlightMax() + ENTRIES_BESIDE, Long.MAX_VALUE);
  }

  public static StoreSettings defaults() {
    return new StoreSettings(
        true,
        ClusterSettings.NONE,
        MEMORY.defaultValue(),
        new Disk(0, 0),
        new Queue(16_384, 32L * MIB),
        new Entries(8, 256, 64 * KIB, 4 * MIB),
        new Snapshots(SNAPSHOT_ENTRIES.defaultValue(), 16L * MIB, SNAPSHOT_AGE.defaultValue()),
        new Reads(2, 1024));
  }

  /** @param cluster the settings for peers */
  public static StoreSettings from(Settings settings, ClusterSettings cluster) {
    var usual = defaults();
    return new StoreSettings(
        settings.get(FSYNC),
        cluster,
        settings.get(MEMORY),
        new Disk(settings.get(DISK_FREE_MIN), settings.get(DISK_CRITICAL_MIN)),
        usual.queue(),
        usual.entries(),
        new Snapshots(settings.get(SNAPSHOT_ENTRIES), usual.snapshots().logBytes(), settings.get(SNAPSHOT_AGE)),
        usual.reads());
  }

  /** The same with other settings for peers. */
  public StoreSettings with(ClusterSettings others) {
    return new StoreSettings(fsync, others, memoryBytes, disk, queue, entries, snapshots, reads, surroundings);
  }

  /** The same in other surroundings. */
  public StoreSettings in(Surroundings others) {
    return new StoreSettings(fsync, cluster, memoryBytes, disk, queue, entries, snapshots, reads, others);
  }

  static void within(String name, long value, long least, long most) {
    if (value < least || value > most)
      throw new IllegalArgumentException(name + " is " + value + ", must be from " + least + " to " + most);
  }
}
