package dunlin.inbox.between;

import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import java.util.List;

/** A call of {@link OtherRange} between processes. */
sealed interface RangeQuestion {
  record AskSums() implements RangeQuestion {}

  record AskHeld(List<String> tenants) implements RangeQuestion {}

  record AskEnded(List<OtherRange.Birth> sessions) implements RangeQuestion {}

  record AskParts(List<GroupKey> groups) implements RangeQuestion {}

  record AskOver(List<OtherRange.SetAside> numbers) implements RangeQuestion {}

  record Store(SessionCommand messages) implements RangeQuestion {}

  record Pick(SessionCommand.PickForGroup pick) implements RangeQuestion {}
}
