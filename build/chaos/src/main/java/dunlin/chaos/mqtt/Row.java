package dunlin.chaos.mqtt;

import dunlin.chaos.Need;
import java.util.Map;
import java.util.Set;

/** One line of the table: a broker or a cluster with these settings, and its fault. */
record Row(String name, String what, Set<Need> needs, Map<String, String> settings, Form form, Script script) {
  Row {
    needs = Set.copyOf(needs);
    settings = Map.copyOf(settings);
  }

  /** What is tried. */
  enum Form {
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
    MORE_SERVICES
  }

  /** Whether nothing happens in it. */
  boolean isQuiet() {
    return name.endsWith("none");
  }

  boolean usual() {
    return form == Form.USUAL || form == Form.CLUSTER || form == Form.SERVICES || form == Form.MORE_SERVICES;
  }

  /** The course of the row. */
  interface Script {
    void play(Scene scene) throws InterruptedException;
  }
}
