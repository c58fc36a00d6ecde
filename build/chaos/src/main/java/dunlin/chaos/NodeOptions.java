package dunlin.chaos;

import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;

/**
 * The options of a node process.
 *
 * @param fsync false for the trial that must find a loss
 */
record NodeOptions(
    Path directory,
    String host,
    int raftPort,
    int servicePort,
    boolean fsync,
    long diskFreeMin,
    Duration electionTimeout,
    LogCut logCut) {

  /**
   * When a node flushes its rows and truncates its log.
   *
   * @param snapshotEntries after this many entries
   * @param snapshotBytes after this many bytes
   */
  record LogCut(int entriesKept, int snapshotEntries, long snapshotBytes) {
    /** Many times within a trial, so that a node that was away must install snapshots. */
    static final LogCut OFTEN = new LogCut(50, 300, 512 * 1024);

    static final LogCut USUAL =
        new LogCut(
            ClusterSettings.NONE.entriesKept(), StoreSettings.defaults().snapshots().entries(), StoreSettings.defaults().snapshots().logBytes());
  }

  List<String> arguments() {
    var arguments = new ArrayList<String>();
    arguments.add("directory=" + directory);
    arguments.add("host=" + host);
    arguments.add("raft-port=" + raftPort);
    arguments.add("service-port=" + servicePort);
    arguments.add("fsync=" + fsync);
    arguments.add("disk-free-min=" + diskFreeMin);
    arguments.add("election-millis=" + electionTimeout.toMillis());
    arguments.add("entries-kept=" + logCut.entriesKept);
    arguments.add("snapshot-entries=" + logCut.snapshotEntries);
    arguments.add("snapshot-bytes=" + logCut.snapshotBytes);
    return arguments;
  }

  static NodeOptions parse(List<String> arguments) {
    var given = new HashMap<String, String>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      if (equals < 0) throw new IllegalArgumentException("'" + argument + "' is not KEY=VALUE");
      given.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    var options =
        new NodeOptions(
            Path.of(take(given, "directory")),
            take(given, "host"),
            Integer.parseInt(take(given, "raft-port")),
            Integer.parseInt(take(given, "service-port")),
            Boolean.parseBoolean(take(given, "fsync")),
            Long.parseLong(take(given, "disk-free-min")),
            Duration.ofMillis(Long.parseLong(take(given, "election-millis"))),
            new LogCut(
                Integer.parseInt(take(given, "entries-kept")),
                Integer.parseInt(take(given, "snapshot-entries")),
                Long.parseLong(take(given, "snapshot-bytes"))));
    if (!given.isEmpty()) throw new IllegalArgumentException("there are no options " + given.keySet());
    return options;
  }

  private static String take(HashMap<String, String> given, String key) {
    String value = given.remove(key);
    if (value == null) throw new IllegalArgumentException(key + " is missing");
    return value;
  }
}
