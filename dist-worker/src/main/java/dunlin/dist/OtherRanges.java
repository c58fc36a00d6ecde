package dunlin.dist;

import dunlin.dist.route.RouteView;
import dunlin.store.RangeDescriptor;

/** The ranges of routes beside the first one, as its leader finds and asks them. Any thread; never blocks. */
public interface OtherRanges {
  /**
   * All ranges as they are known now; the same object while nothing has changed. Called for each message.
   *
   * @param own the first range by its leader's rows
   */
  RouteView beside(RangeDescriptor own);

  /** How many routes the others had when they were asked last. */
  long routes();
}
