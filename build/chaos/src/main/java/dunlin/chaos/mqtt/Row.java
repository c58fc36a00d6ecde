package dunlin.chaos.mqtt;

import dunlin.chaos.Need;
import java.util.Map;
import java.util.Set;

/** One line of the table: a broker or a cluster with these settings, and its fault. */
public record Row(String name, String what, Set<Need> needs, Map<String, String> settings, Form form, Script script) {
  private static final int ROUNDS_MAX = 25;
  /** A round strikes each process, and has up to 1,500,000 deliveries. */
  private static final int CLUSTER_ROUNDS_MAX = 1;

  public Row {
    needs = Set.copyOf(needs);
    settings = Map.copyOf(settings);
  }

  /** What is tried. */
  public enum Form {
    /** One broker with the clients of {@link Load}; the history is checked after they have received all. */
    USUAL,
    /** One broker with clients of the row's own. */
    OWN,
    /** The same as usual, with three brokers of one cluster. */
    CLUSTER,
    /** Three brokers of one cluster with clients of the row's own. */
    OWN_CLUSTER,
    /** The same as usual, with separate services of one cluster: stores, dist workers and frontends. */
    SERVICES,
    /** These services with clients of the row's own. */
    OWN_SERVICES,
    /** These services with the usual clients, and one more of each service, which the row starts. */
    MORE_SERVICES,
    /** The same as usual, with three brokers of one cluster, and a fourth, which the row starts. */
    SPARE_CLUSTER,
    /** The same as usual, with separate services of one cluster, and one more store and one more dist worker, which the row starts. */
    SPARE_SERVICES
  }

  /** Whether nothing happens in it. */
  public boolean isQuiet() {
    return name.endsWith("none");
  }

  /** Whether it takes a number of minutes instead of rounds. */
  public boolean soaks() {
    return script.soaks();
  }

  /** The rounds that fit into a journal. More rounds are several trials. */
  int trialRounds() {
    // There is one round whatever the request says.
    if (form == Form.MORE_SERVICES || needs.contains(Need.PREVIOUS)) return Integer.MAX_VALUE;
    return switch (form) {
      case CLUSTER, SERVICES, SPARE_CLUSTER, SPARE_SERVICES -> CLUSTER_ROUNDS_MAX;
      default -> ROUNDS_MAX;
    };
  }

  public boolean usual() {
    return switch (form) {
      case USUAL, CLUSTER, SERVICES, MORE_SERVICES, SPARE_CLUSTER, SPARE_SERVICES -> true;
      case OWN, OWN_CLUSTER, OWN_SERVICES -> false;
    };
  }

  /** The course of the row. */
  public interface Script {
    void play(Scene scene) throws InterruptedException;

    /** Whether it goes on for a number of minutes, whatever the number of rounds. */
    default boolean soaks() {
      return false;
    }
  }
}
