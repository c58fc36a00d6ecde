package dunlin.load.engine;

/**
 * Where a run is.
 *
 * @param number of this step, from 1
 * @param of how many steps there are
 * @param seconds since it began
 * @param secondsMax after which it ends; infinite when something else ends it
 */
public record Phase(String name, int number, int of, double seconds, double secondsMax) {}
