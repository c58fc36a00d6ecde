package dunlin.store;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * How the ranges of one process are stored. Every bound is per range unless it says otherwise.
 *
 * @param fsync whether an entry counts as durable only after it was forced to disk. False survives a crash of the
 *     process, not the loss of power of a majority: acknowledged commands can then be gone
 * @param cluster how this node meets the others
 * @param memoryBytes RocksDB's memory over all ranges of the process, block cache and write buffers together, at
 *     least 8 MiB
 * @param diskFreeMin bytes that must stay free on the data directory's disk, of the whole process; with less, only commands that
 *     free space or need none are taken ({@link CommandKind#RELEASE}), until there is a quarter more than this. 0 stands for 1 GiB,
 *     or a twentieth of a disk that is smaller than 20 GiB
 * @param diskCriticalMin bytes with less than which no commands at all are taken; what lies between is the reserve for freeing space. 0
 *     stands for half of diskFreeMin; more than that counts as that
 * @param queuedCommandsMax commands that wait for the log, 4 to 1,048,576, rounded up to a power of two;
 *     one more is refused. A quarter is kept for commands that are not of a flow ({@link CommandKind})
 * @param queuedBytesMax bytes of the commands that wait for the log, at least four times entryBytesMax, so that the largest
 *     command finds room in what a flow may take when half is free; more are refused. A quarter is kept as above
 * @param entriesInFlight log entries proposed and not yet applied, 1 to 64
 * @param commandsPerEntry commands packed into one log entry, 1 to 4,096
 * @param bytesPerEntry size at which a log entry is full, 1 KiB to entryBytesMax; a larger command is an entry alone
 * @param entryBytesMax largest log entry and so about the largest command, 64 KiB to 16 MiB; costs each range a write
 *     buffer of this size outside the heap
 * @param snapshotEntries log entries after which the rows are flushed and the log is cut, 1 to 10,000,000
 * @param snapshotLogBytes bytes of log entries after which the same is done, at least 64 KiB. Bounds what a restart
 *     after a crash replays
 * @param snapshotAge time after which the same is done when anything was applied since, at least 1 s
 * @param readers threads that read rows, 1 to 64
 * @param queuedReadsMax tasks that wait for a reader, 1 to 1,048,576; one more throws RejectedExecutionException
 */
public record StoreSettings(
    boolean fsync,
    ClusterSettings cluster,
    long memoryBytes,
    long diskFreeMin,
    long diskCriticalMin,
    int queuedCommandsMax,
    long queuedBytesMax,
    int entriesInFlight,
    int commandsPerEntry,
    int bytesPerEntry,
    int entryBytesMax,
    int snapshotEntries,
    long snapshotLogBytes,
    Duration snapshotAge,
    int readers,
    int queuedReadsMax) {

  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;
  /** Entries of Ratis' own and of control that come beside those in flight. */
  private static final int ENTRIES_BESIDE = 8;

  public StoreSettings {
    requireNonNull(cluster);
    within("memoryBytes", memoryBytes, 8 * MIB, Long.MAX_VALUE);
    within("diskFreeMin", diskFreeMin, 0, Long.MAX_VALUE);
    within("diskCriticalMin", diskCriticalMin, 0, Long.MAX_VALUE);
    within("queuedCommandsMax", queuedCommandsMax, 4, 1 << 20);
    within("entryBytesMax", entryBytesMax, 64 * KIB, 16 * MIB);
    within("queuedBytesMax", queuedBytesMax, 4L * entryBytesMax, Long.MAX_VALUE);
    within("entriesInFlight", entriesInFlight, 1, 64);
    // A copy of the rows has to reach beyond what an old leader has in its log and nobody else: Ratis would keep that part of its
    // log, up to where the copy ends, as if it belonged to the range.
    within("cluster.entriesKept", cluster.entriesKept(), 2L * entriesInFlight + ENTRIES_BESIDE, Long.MAX_VALUE);
    within("commandsPerEntry", commandsPerEntry, 1, 4096);
    within("bytesPerEntry", bytesPerEntry, KIB, entryBytesMax);
    within("snapshotEntries", snapshotEntries, 1, 10_000_000);
    within("snapshotLogBytes", snapshotLogBytes, 64 * KIB, Long.MAX_VALUE);
    within("snapshotAge (ms)", snapshotAge.toMillis(), 1000, Long.MAX_VALUE);
    within("readers", readers, 1, 64);
    within("queuedReadsMax", queuedReadsMax, 1, 1 << 20);
  }

  public static StoreSettings defaults() {
    return new StoreSettings(
        true,
        ClusterSettings.NONE,
        64L * MIB,
        0,
        0,
        16_384,
        32L * MIB,
        8,
        256,
        64 * KIB,
        4 * MIB,
        20_000,
        16L * MIB,
        Duration.ofMinutes(1),
        2,
        1024);
  }

  /** The same, for a node that has others. */
  public StoreSettings with(ClusterSettings others) {
    return new StoreSettings(
        fsync, others, memoryBytes, diskFreeMin, diskCriticalMin, queuedCommandsMax, queuedBytesMax, entriesInFlight,
        commandsPerEntry, bytesPerEntry, entryBytesMax, snapshotEntries, snapshotLogBytes, snapshotAge, readers, queuedReadsMax);
  }

  static void within(String name, long value, long least, long most) {
    if (value < least || value > most)
      throw new IllegalArgumentException(name + " is " + value + ", must be from " + least + " to " + most);
  }
}
