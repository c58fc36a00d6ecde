package dunlin.retain;

import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainCommand.Set;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.List;

/** Keeps one row per topic with a retained message, and the index of those topics: the last message in log order wins. */
final class RetainRange implements RangeLogic<RetainCommand, RetainResult> {
  /*
   * Owner: the range's applying thread. Readers take the index and walk it meanwhile.
   * Bounds: Set refuses a new topic when there are as many as the command allows. What the log holds is looked at again where it is
   *   applied, so that no command can stop a replica at each of its starts: one that breaks a rule is refused.
   * Failure: the index is built from the rows. It learns of a topic before its row is readable, and forgets one before its
   *   row is gone; a reader takes a missing row for a missing message. What readers find is always a row, and rows never
   *   go back; none of the commands in question has been answered yet.
   */
  private volatile TopicIndex index = new TopicIndex();

  /** The topics that have a message. A later snapshot replaces the whole index. */
  TopicIndex index() {
    return index;
  }

  @Override
  public void open(RangeReader state) {
    TopicIndex topics = new TopicIndex();
    state.scan(
        new byte[0],
        null,
        (key, _) -> {
          topics.add(key);
          return true;
        });
    index = topics;
  }

  @Override
  public List<RetainResult> apply(List<RetainCommand> commands, RangeWriter out) {
    List<RetainResult> results = new ArrayList<>(commands.size());
    for (RetainCommand command : commands) {
      results.add(
          switch (command) {
            case Set set -> set(set, out);
            case Clear clear -> new RetainResult.Removed(remove(clear.key(), out) ? 1 : 0);
            case RemoveExpired remove -> removeExpired(remove, out);
          });
    }
    return results;
  }

  private RetainResult set(Set command, RangeWriter out) {
    if (command.message().payloadLength() == 0 || !TopicKeys.hasKey(command.message())) return RetainResult.REFUSED;
    byte[] key = TopicKeys.of(command.message());
    if (index.size() >= command.messagesMax() && !index.contains(key)) return RetainResult.REFUSED;
    index.add(key);
    out.put(key, RetainCodec.row(command.message()));
    return RetainResult.STORED;
  }

  private boolean remove(byte[] key, RangeWriter out) {
    if (!index.remove(key)) return false;
    out.delete(key);
    return true;
  }

  private RetainResult removeExpired(RemoveExpired command, RangeWriter out) {
    int removed = 0;
    for (byte[] key : command.keys().subList(0, Math.min(RemoveExpired.KEYS_MAX, command.keys().size()))) {
      byte[] row = out.get(key);
      if (row != null && RetainCodec.message(row).expired(command.nowMillis()) && remove(key, out)) removed++;
    }
    return new RetainResult.Removed(removed);
  }
}
