package dunlin.placement.plan;

import dunlin.placement.Action;
import dunlin.placement.PlacementCommand;
import java.util.List;

/** The next thing to do for an operation. */
sealed interface Step {
  /** Ask nodes, all of them at once, again and again until the reports show the effect. */
  record Do(List<Action> actions) implements Step {
    public Do {
      actions = List.copyOf(actions);
    }

    Do(Action one) {
      this(List.of(one));
    }
  }

  /** Propose to the meta group's log. */
  record Log(PlacementCommand command) implements Step {}

  /** Nothing, until something changes. */
  record Wait(String why) implements Step {}
}
