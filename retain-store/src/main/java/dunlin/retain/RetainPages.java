package dunlin.retain;

import dunlin.model.Publication;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.index.TopicIndex;
import dunlin.store.RangeReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads one page of the messages that match a filter, with bounded work. */
final class RetainPages {
  /** The most keys visited for one page; it ends early, perhaps empty, when too few of them match. */
  static final int VISITS_MAX = 4096;

  /** A page ends as well when its rows have so many bytes. It may be sent to another process, with the names of all publishers. */
  private static final int ROW_BYTES_MAX = 8 << 20;

  /** The most keys visited by {@link #empty}: a few microseconds. */
  private static final int LOOKS_MAX = 8;

  private RetainPages() {}

  /**
   * @param visits how many keys were visited
   * @param expired keys of some expired messages that were found
   */
  record Result(Page page, int visits, List<byte[]> expired) {}

  /**
   * Reads one range from the seek's position; for the limits see {@link RetainClient#find}.
   *
   * @param rangeEnd the first key of the next range; null for the last one
   */
  static Result read(
      TopicIndex index, RangeReader rows, byte @Nullable [] rangeEnd, FilterSeek seek, long nowMillis, int messagesMax, int bytesMax) {
    List<Publication> messages = new ArrayList<>();
    RemoveExpired.Keys expired = new RemoveExpired.Keys();
    TopicIndex.Walk walk = index.walk();
    int visits = 0;
    long bytes = 0;
    long rowBytes = 0;
    // Expired messages count as bytes: reading them is work, too.
    while (visits < VISITS_MAX && messages.size() < messagesMax && bytes <= bytesMax && rowBytes <= ROW_BYTES_MAX && !seek.done()) {
      if (!walk.seek(seek.target(), seek.targetLength())) {
        seek.skipTo(rangeEnd);
        break;
      }
      visits++;
      if (!seek.visit(walk.key(), walk.length())) continue;
      byte[] key = walk.copy();
      byte[] row = rows.get(key);
      if (row == null) continue;
      Publication message = RetainCodec.message(row);
      bytes += message.body().length;
      rowBytes += row.length;
      if (!message.expired(nowMillis)) messages.add(message);
      else if (!expired.full()) expired.add(key);
    }
    return new Result(new Page(List.copyOf(messages), cursor(seek)), visits, expired.list());
  }

  private static @Nullable Cursor cursor(FilterSeek seek) {
    return seek.done() ? null : new Cursor(Arrays.copyOf(seek.target(), seek.targetLength()));
  }

  /**
   * The page of a range in which no topic matches, if a few keys tell that; empty when rows must be read, or more keys. Any thread.
   *
   * @param seek stays where it is
   */
  static Optional<Page> empty(TopicIndex index, byte @Nullable [] rangeEnd, FilterSeek seek) {
    FilterSeek ahead = seek.copy();
    TopicIndex.Walk walk = index.walk();
    for (int looks = 0; !ahead.done(); looks++) {
      if (looks == LOOKS_MAX) return Optional.empty();
      if (!walk.seek(ahead.target(), ahead.targetLength())) {
        ahead.skipTo(rangeEnd);
        break;
      }
      if (ahead.visit(walk.key(), walk.length())) return Optional.empty();
    }
    return Optional.of(new Page(List.of(), cursor(ahead)));
  }
}
