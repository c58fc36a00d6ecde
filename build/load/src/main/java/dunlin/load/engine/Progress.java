package dunlin.load.engine;

/** Observes a run. */
@FunctionalInterface
public interface Progress {
  /** Called each second on the run's thread. */
  void second(Phase phase, Moment moment);
}
