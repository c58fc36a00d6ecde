package dunlin.load.engine;

/** Looks on while a run lasts. */
@FunctionalInterface
public interface Progress {
  /** Gets each second, on the run's thread. */
  void second(Phase phase, Moment moment);
}
