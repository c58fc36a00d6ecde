package dunlin.admin.backup;

import dunlin.runtime.metrics.Description;

/** The backups that a node makes, as operators begin and follow them by JMX: {@code dunlin:type=Backups,node=<id>}. */
@Description("Makes backups of the data of the node or its cluster while it runs")
public interface BackupsMXBean {
  /**
   * The last backup of this node.
   *
   * @param name empty when none was begun since the start
   * @param state one of none, running, complete, failed and cancelled
   * @param path where it is once it is complete
   * @param started in ISO format; empty when none was begun
   * @param ended in ISO format; empty while it runs
   * @param ranges that it is made of
   * @param rangesDone of these, copied
   * @param bytes copied
   * @param problem why it failed, as a sentence; else empty
   */
  record BackupRow(String name, String state, String path, String started, String ended, int ranges, int rangesDone, long bytes, String problem) {}

  @Description("The last backup that was begun at this node, and how far it is")
  BackupRow getLast();

  @Description("Begins a backup below dunlin.backup.directory of this node, and does not wait for it")
  BackupRow begin(@Description("Its name, which its directory gets: 1 to 64 letters, digits, dots, - and _") String name);

  @Description("Cancels the backup that runs, of which nothing is left then")
  BackupRow cancel();
}
