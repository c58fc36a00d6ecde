package dunlin.inbox.state;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Sessions without a connection that will expire, ordered by deadline and then by birth, so that every replica ends
 * them in the same order.
 */
public final class ExpiryQueue {
  /*
   * Owner: the applying thread.
   * It is a binary heap in an array; each session knows its index (expiryPlace). A tree would take as much memory for
   * each absent session as the session itself.
   * Bounds: one reference for each session in the queue, and at most twice as many while the array is resized.
   */
  private static final int PLACES_MIN = 16;

  private @Nullable SessionState[] heap = new @Nullable SessionState[PLACES_MIN];
  private int size;

  public boolean isEmpty() {
    return size == 0;
  }

  /** The deadline of the first session; {@link SessionState#NEVER} if the queue is empty. */
  public long firstDeadline() {
    var first = heap[0];
    return first == null ? SessionState.NEVER : first.deadline;
  }

  /** The session that ends first, or null. */
  public @Nullable SessionState first() {
    return heap[0];
  }

  /** Adds a session that is not in the queue; its deadline must not change until it is removed. */
  public void add(SessionState session) {
    assert session.expiryPlace < 0 : "in the queue twice";
    if (size == heap.length) heap = Arrays.copyOf(heap, size * 2);
    rise(session, size++);
  }

  /** Removes a session that is in the queue. */
  public void remove(SessionState session) {
    int place = session.expiryPlace;
    assert heap[place] == session : "a session in another's place";
    session.expiryPlace = -1;
    var last = heap[--size];
    heap[size] = null;
    if (last != null && last != session) {
      sink(last, place);
      if (heap[place] == last) rise(last, place);
    }
    if (heap.length > PLACES_MIN && size < heap.length / 4) heap = Arrays.copyOf(heap, heap.length / 2);
  }

  void clear() {
    heap = new @Nullable SessionState[PLACES_MIN];
    size = 0;
  }

  private void rise(SessionState session, int from) {
    int place = from;
    while (place > 0) {
      int above = (place - 1) / 2;
      var parent = heap[above];
      if (parent == null || !before(session, parent)) break;
      put(parent, place);
      place = above;
    }
    put(session, place);
  }

  private void sink(SessionState session, int from) {
    int place = from;
    while (true) {
      int below = 2 * place + 1;
      if (below >= size) break;
      var child = heap[below];
      var other = below + 1 < size ? heap[below + 1] : null;
      if (child == null) break;
      if (other != null && before(other, child)) {
        child = other;
        below++;
      }
      if (!before(child, session)) break;
      put(child, place);
      place = below;
    }
    put(session, place);
  }

  private void put(SessionState session, int place) {
    heap[place] = session;
    session.expiryPlace = place;
  }

  private static boolean before(SessionState one, SessionState other) {
    if (one.deadline != other.deadline) return one.deadline < other.deadline;
    return one.birth < other.birth;
  }
}
