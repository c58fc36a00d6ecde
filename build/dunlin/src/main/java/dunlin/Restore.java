package dunlin;

import dunlin.admin.backup.StoredBackup;
import dunlin.node.BackupRanges;
import dunlin.node.SessionLayout;
import dunlin.store.StoreException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;

/** {@code bin/dunlin restore}: makes the data directory of a new broker from a backup. */
final class Restore {
  /*
   * Failure: exit codes are 0 for done, 1 for impossible, with one sentence on standard error, 2 for wrong arguments. What is impossible leaves nothing behind.
   */
  static final int DONE = 0;
  static final int CANNOT = 1;
  static final int USAGE = 2;

  private static final String CHECK = "--check";
  private static final String HOW =
      """
      Usage: bin/dunlin restore BACKUP_DIR DATA_DIR
             bin/dunlin restore --check BACKUP_DIR
      DATA_DIR is empty, or does not exist. It becomes that of a new broker that runs alone; bin/dunlin form-cluster makes it the first node of a cluster.""";

  private Restore() {}

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(List.of(args), out, err));
  }

  static int run(List<String> arguments, PrintStream out, PrintStream err) {
    boolean check = arguments.size() == 2 && arguments.getFirst().equals(CHECK);
    if (arguments.size() != 2 || arguments.getLast().startsWith("-") || (!check && arguments.getFirst().startsWith("-"))) {
      err.println(HOW);
      return USAGE;
    }
    try {
      StoredBackup backup = StoredBackup.open(Path.of(check ? arguments.getLast() : arguments.getFirst()));
      if (check) {
        backup.check();
        out.println("The backup of %s is whole: %s".formatted(backup.made(), backup.content()));
        return DONE;
      }
      Path to = Path.of(arguments.getLast());
      backup.restore(to, BackupRanges.FILES);
      out.println("%s has the data of the backup of %s: %s".formatted(to, backup.made(), backup.content()));
      out.println("Start its broker with " + SessionLayout.settings(to));
      return DONE;
    } catch (InvalidPathException e) {
      err.println("dunlin restore: not a path: " + e.getInput());
      return USAGE;
    } catch (StoreException | IOException e) {
      err.println("dunlin restore: " + e.getMessage());
      return CANNOT;
    }
  }
}
