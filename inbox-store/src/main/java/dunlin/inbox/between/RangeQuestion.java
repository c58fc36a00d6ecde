package dunlin.inbox.between;

import java.util.List;

/** A call of {@link OtherRange} between processes. */
sealed interface RangeQuestion {
  record AskSums() implements RangeQuestion {}

  record AskEnded(List<OtherRange.Birth> sessions) implements RangeQuestion {}
}
