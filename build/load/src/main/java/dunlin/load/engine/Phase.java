package dunlin.load.engine;

/**
 * The current step of a run.
 *
 * @param number the number of the step, from 1
 * @param of the number of steps
 * @param seconds since it began
 * @param secondsMax the time after which the step ends; infinite when something else ends it
 */
public record Phase(String name, int number, int of, double seconds, double secondsMax) {}
