package dunlin.chaos.mqtt;

import java.util.Map;
import java.util.Set;

/**
 * One line of the table: a broker with these settings, and what happens to it.
 *
 * @param usual whether the clients of {@link Load} are there, and the history is checked when they have taken all
 */
record Row(String name, String what, Set<Need> needs, Map<String, String> settings, boolean usual, Script script) {
  /** What a row needs of the machine. */
  enum Need {
    FSYNC,
    DISK
  }

  /** What happens. */
  interface Script {
    void play(Scene scene) throws InterruptedException;
  }
}
