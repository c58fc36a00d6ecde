package dunlin.admin.exports;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.server.InboxServer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/** Exports and imports the durable sessions of a cluster that has several ranges of them: each leader does it for its own range. */
public final class SessionExportsOfRanges implements SessionExportsMXBean {
  /*
   * A page names the range that the next one is of: a leader whose range is read hands on to the next one, first for the sessions of all ranges, then for what waits in
   * groups. An import goes to each leader whole. So each finds a line that is wrong, the first one before anything is done, and imports what its own range has. The
   * last one also imports what waits in groups, when all members are there.
   *
   * Owner: any thread that may block; keeps nothing.
   * Failure: when a leader does not answer, what those before it have imported stays, and all lines can be imported again.
   */
  private final Layout layout;
  private final IntFunction<SessionExportsMXBean> ranges;

  /** @param ranges the bean of a range, by its number */
  public SessionExportsOfRanges(Layout layout, IntFunction<SessionExportsMXBean> ranges) {
    this.layout = layout;
    this.ranges = ranges;
  }

  @Override
  public SessionPage exportSessions(String tenant, String prefix, String cursor, int max) {
    int shard = cursor.isEmpty() ? 0 : InboxServer.shardOfPage(layout.shards(), MessageText.positionOf(cursor));
    return ranges.apply(layout.rangeOf(shard)).exportSessions(tenant, prefix, cursor, max);
  }

  @Override
  public ImportedSessions importSessions(String tenant, String lines, long firstLine) {
    ImportedSessions all = ranges.apply(0).importSessions(tenant, lines, firstLine);
    for (int i = 1; i < layout.ranges(); i++) all = together(all, ranges.apply(i).importSessions(tenant, lines, firstLine));
    return all;
  }

  /** Leaders with the same settings say the same of a line, once for all of them. */
  private static List<String> sentences(ImportedSessions one, ImportedSessions other) {
    return Stream.of(one, other).map(ImportedSessions::sentences).filter(Objects::nonNull).flatMap(List::stream).distinct().toList();
  }

  private static ImportedSessions together(ImportedSessions one, ImportedSessions other) {
    Map<String, Integer> refused = new HashMap<>(one.refused());
    other.refused().forEach((reason, count) -> refused.merge(reason, count, Integer::sum));
    return new ImportedSessions(
        one.sessions() + other.sessions(), one.existing() + other.existing(), one.unfinished() + other.unfinished(), one.messages() + other.messages(),
        one.expired() + other.expired(), refused, sentences(one, other));
  }
}
