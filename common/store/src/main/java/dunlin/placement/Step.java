package dunlin.placement;

/** The next thing to do for an operation. */
sealed interface Step {
  /** Ask a node, again and again until the reports show the effect. */
  record Do(Action action) implements Step {}

  /** Propose to the meta group's log. */
  record Log(PlacementCommand command) implements Step {}

  /** Nothing, until something changes. */
  record Wait(String why) implements Step {}
}
