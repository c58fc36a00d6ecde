package dunlin.inbox.state;

import dunlin.inbox.ConnectionId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The sessions of a range that have a connection, by the frontend that holds it and by the life of that frontend. */
public final class OnlineSessions {
  /*
   * Owner: the applying thread.
   * The sessions of each life form a linked list, by a small object for each online session; this takes less memory
   * than a tree. The list is ordered by epoch, so that every replica ends the connections of a lost frontend in the
   * same order. A new connection has the highest epoch, so it is added at the end. When a range is opened, sessions are
   * added in the order of their keys, and a list is sorted when its first session is asked for.
   * Bounds: a list for each life of a frontend that has a connection here.
   */
  private final Map<String, NavigableMap<Long, Line>> byFrontend = new HashMap<>();

  /**
   * The neighbours of a session in the list. A separate object, because most sessions of a large range are offline.
   */
  static final class Place {
    private @Nullable SessionState previous;
    private @Nullable SessionState next;

    private Place(@Nullable SessionState previous) {
      this.previous = previous;
    }
  }

  private static Place place(SessionState session) {
    var place = session.online;
    if (place == null) throw new IllegalStateException("not online: " + session.key);
    return place;
  }

  private static final class Line {
    private @Nullable SessionState first;
    private @Nullable SessionState last;
    private boolean sorted = true;

    void append(SessionState session) {
      SessionState before = last;
      session.online = new Place(before);
      last = session;
      if (before == null) {
        first = session;
      } else {
        place(before).next = session;
        sorted &= before.epoch < session.epoch;
      }
    }

    void remove(SessionState session) {
      SessionState before = place(session).previous;
      SessionState after = place(session).next;
      if (before == null) first = after;
      else place(before).next = after;
      if (after == null) last = before;
      else place(after).previous = before;
      session.online = null;
    }

    @Nullable SessionState first() {
      if (!sorted) sort();
      return first;
    }

    private void sort() {
      List<SessionState> sessions = new ArrayList<>();
      for (SessionState each = first; each != null; each = place(each).next) sessions.add(each);
      sessions.sort(Comparator.comparingLong(each -> each.epoch));
      first = null;
      last = null;
      sorted = true;
      sessions.forEach(this::append);
    }
  }

  void clear() {
    byFrontend.clear();
  }

  /** Adds a session. Its owner and epoch must be set and must not change until it is removed. */
  public void add(SessionState session, ConnectionId owner) {
    byFrontend
        .computeIfAbsent(owner.frontend(), _ -> new TreeMap<>())
        .computeIfAbsent(owner.incarnation(), _ -> new Line())
        .append(session);
  }

  public void remove(SessionState session, ConnectionId owner) {
    var lives = byFrontend.get(owner.frontend());
    Line line = lives == null ? null : lives.get(owner.incarnation());
    if (lives == null || line == null) throw new IllegalStateException("no sessions of " + owner);
    line.remove(session);
    if (line.first != null) return;
    lives.remove(owner.incarnation());
    if (lives.isEmpty()) byFrontend.remove(owner.frontend());
  }

  /** The session with the oldest connection of an earlier life of a frontend, or null if there is none. */
  public @Nullable SessionState ofEarlierLife(String frontend, long incarnation) {
    var lives = byFrontend.get(frontend);
    if (lives == null || lives.firstKey() >= incarnation) return null;
    return lives.firstEntry().getValue().first();
  }
}
