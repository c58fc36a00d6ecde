package dunlin.chaos.mqtt;

import java.util.Map;
import java.util.Set;

/**
 * One line of the table: a broker with these settings, and its fault.
 *
 * @param usual whether the clients of {@link Load} run, and the history is checked after they have received all
 */
record Row(String name, String what, Set<Need> needs, Map<String, String> settings, boolean usual, Script script) {
  /** The requirements of a row on the machine. */
  enum Need {
    FSYNC,
    DISK
  }

  /** The course of the row. */
  interface Script {
    void play(Scene scene) throws InterruptedException;
  }
}
