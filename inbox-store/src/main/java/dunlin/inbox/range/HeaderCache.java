package dunlin.inbox.range;

import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Caches recently written or read headers of messages, so that acknowledging does not read a row for each message.
 * Headers appended for a connection are cached when they are written; missing ones are read ahead, a part of an inbox
 * at a time.
 */
final class HeaderCache {
  /*
   * Owner: the applying thread.
   * It only repeats what the rows say: a replica that has just opened its range, with an empty cache, changes its rows
   * in the same way as one with a full cache. So every change of a header row goes through Inboxes, which updates this
   * cache.
   * Bounds: HEADERS_MAX headers over all inboxes, a few megabytes; the least recently used is evicted first. One read
   * takes AHEAD_MIN headers, or twice as many as the previous read if it continues where that one ended, up to
   * AHEAD_MAX.
   */
  private static final int HEADERS_MAX = 1 << 16;
  private static final int AHEAD_MIN = 16;
  static final int AHEAD_MAX = 128;

  /** In the order of their last use. */
  private final Map<Backlog, Window> windows = new LinkedHashMap<>(16, 0.75f, true);

  /** Number of headers in all windows, plus one for each window. */
  private int size;

  /** All headers of an inbox from one sequence up to another, exclusive. */
  private static final class Window {
    private long from;
    private long to;
    private final int ahead;
    private final NavigableMap<Long, StoredMessage> headers = new TreeMap<>();

    Window(long from, int ahead) {
      this.from = from;
      this.to = from;
      this.ahead = ahead;
    }

    boolean knows(long sequence) {
      return from <= sequence && sequence < to;
    }
  }

  /** A message's header and sequence. */
  record Found(long sequence, StoredMessage stored) {}

  /** The header of a message, or null if there is no message with this sequence. */
  @Nullable StoredMessage get(Change change, Backlog inbox, long sequence) {
    if (inbox.count == 0 || sequence < inbox.first || sequence >= inbox.next) return null;
    var window = windows.get(inbox);
    if (window == null || !window.knows(sequence)) {
      int ahead = ahead(window, sequence);
      long end = Math.min(inbox.next, sequence + ahead);
      window = read(change, inbox, sequence, end, ahead);
    }
    return window.headers.get(sequence);
  }

  /** The first message with this sequence or a higher one, or null if there is none. */
  @Nullable Found ceiling(Change change, Backlog inbox, long sequence) {
    if (inbox.count == 0) return null;
    long from = Math.max(sequence, inbox.first);
    if (from >= inbox.next) return null;
    var stored = get(change, inbox, from);
    if (stored != null) return new Found(from, stored);
    var window = windows.get(inbox);
    var next = window == null ? null : window.headers.ceilingEntry(from);
    if (next == null) {
      // The gap is longer than the part that was read: skip to its end.
      window = read(change, inbox, from, inbox.next, ahead(window, from));
      next = window.headers.ceilingEntry(from);
    }
    if (next == null) return null;
    // No message is in front of this one; the next search need not skip the deleted rows there.
    if (from == inbox.first) inbox.first = next.getKey();
    return new Found(next.getKey(), next.getValue());
  }

  private static int ahead(@Nullable Window before, long sequence) {
    boolean goesOn = before != null && sequence >= before.to && sequence - before.to < before.ahead;
    return before == null || !goesOn ? AHEAD_MIN : Math.min(before.ahead * 2, AHEAD_MAX);
  }

  private Window read(Change change, Backlog inbox, long from, long to, int max) {
    forget(inbox);
    var window = new Window(from, max);
    window.to = to;
    change
        .out()
        .scan(
            inbox.key(from),
            inbox.key(to),
            (key, value) -> {
              long sequence = SessionKeys.sequence(key);
              window.headers.put(sequence, StoredMessage.read(value));
              if (window.headers.size() < max) return true;
              window.to = sequence + 1;
              return false;
            });
    windows.put(inbox, window);
    size += 1 + window.headers.size();
    shrink();
    return window;
  }

  /** Adds a message that was appended to the inbox of a connected session, and so will be acknowledged soon. */
  void appended(Backlog inbox, long sequence, StoredMessage stored) {
    var window = windows.get(inbox);
    if (window == null) {
      window = new Window(sequence, AHEAD_MIN);
      windows.put(inbox, window);
      size++;
    }
    // For a client that is far behind, headers are read when it gets there.
    if (window.to != sequence || window.headers.size() == AHEAD_MAX) return;
    window.headers.put(sequence, stored);
    window.to = sequence + 1;
    size++;
    shrink();
  }

  /** Adds a message that was returned to the front of an inbox. */
  void prepended(Backlog inbox, long sequence, StoredMessage stored) {
    var window = windows.get(inbox);
    if (window == null || !window.knows(sequence)) return;
    window.headers.put(sequence, stored);
    size++;
    shrink();
  }

  /** Updates the header of a message whose row was rewritten. */
  void changed(Backlog inbox, long sequence, StoredMessage stored) {
    var window = windows.get(inbox);
    if (window != null) window.headers.computeIfPresent(sequence, (_, _) -> stored);
  }

  /** Removes the header of a message whose row was deleted. */
  void removed(Backlog inbox, long sequence) {
    var window = windows.get(inbox);
    if (window != null && window.headers.remove(sequence) != null) size--;
  }

  /** Drops the headers of an inbox that will not be needed for a while, or was created anew. */
  void forget(Backlog inbox) {
    var window = windows.remove(inbox);
    if (window != null) size -= 1 + window.headers.size();
  }

  private void shrink() {
    while (size > HEADERS_MAX) forget(windows.keySet().iterator().next());
  }

  void clear() {
    windows.clear();
    size = 0;
  }
}
