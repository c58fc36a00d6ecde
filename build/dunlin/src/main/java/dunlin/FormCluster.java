package dunlin;

import dunlin.cluster.LoneData;
import dunlin.inbox.InboxSettings;
import dunlin.node.SessionLayout;
import dunlin.store.StoreException;
import dunlin.tiers.ClusterTiers;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;

/** {@code bin/dunlin form-cluster}: the data of a broker that ran alone becomes that of the first node of a cluster. */
final class FormCluster {
  /*
   * Failure: exit codes are 0 for done, also when it had been done before; 1 for impossible, with one sentence on standard error; 2 for wrong arguments.
   */
  static final int DONE = 0;
  static final int CANNOT = 1;
  static final int USAGE = 2;

  private FormCluster() {}

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(List.of(args), out, err));
  }

  static int run(List<String> arguments, PrintStream out, PrintStream err) {
    if (arguments.size() != 1 || arguments.getFirst().startsWith("-")) {
      err.println("Usage: bin/dunlin form-cluster DATA_DIR\nThe broker must be stopped.");
      return USAGE;
    }
    try {
      Path directory = Path.of(arguments.getFirst());
      var sessions = SessionLayout.read(directory).orElse(InboxSettings.defaults().layout());
      var cluster = LoneData.toFounder(directory, ClusterTiers.begins(sessions));
      out.println("%s is the data of the first node of cluster %s; start its broker with dunlin.cluster.seeds".formatted(directory, cluster));
      out.println("All nodes of the cluster must have " + SessionLayout.settings(directory));
      return DONE;
    } catch (InvalidPathException e) {
      err.println("dunlin form-cluster: not a path: " + e.getInput());
      return USAGE;
    } catch (StoreException e) {
      err.println("dunlin form-cluster: " + e.getMessage());
      return CANNOT;
    }
  }
}
