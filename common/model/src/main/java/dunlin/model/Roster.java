package dunlin.model;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The members of a group, with addition and removal in constant time, readable by any thread without a lock. */
public final class Roster<M extends Roster.Placed> {
  /*
   * Owner: one thread adds and removes. The last member takes the place of a removed one, so a reader may briefly miss
   * a member, see one twice, or see one that was just removed; a reader that needs certainty asks the member.
   * Bounds: grows by doubling, up to the largest number of members so far.
   */
  private volatile AtomicReferenceArray<@Nullable M> members = new AtomicReferenceArray<>(2);
  private volatile int size;

  /** A member, which stores its place for the roster; only the roster changes it. */
  public interface Placed {
    int place();

    void place(int place);
  }

  public int size() {
    return size;
  }

  /** The member at a place from 0 to size - 1; null when it was removed since. */
  public @Nullable M at(int place) {
    AtomicReferenceArray<@Nullable M> current = members;
    return place < current.length() ? current.getAcquire(place) : null;
  }

  /** Adds a member that is on no roster. */
  public void add(M member) {
    AtomicReferenceArray<@Nullable M> current = members;
    int at = size;
    if (at == current.length()) {
      AtomicReferenceArray<@Nullable M> larger = new AtomicReferenceArray<>(at * 2);
      for (int i = 0; i < at; i++) larger.setPlain(i, current.getPlain(i));
      members = current = larger;
    }
    member.place(at);
    current.setRelease(at, member);
    size = at + 1;
  }

  /** Removes a member that is on this roster. */
  @SuppressWarnings("ReferenceEquality") // compares the member's identity
  public void remove(M member) {
    AtomicReferenceArray<@Nullable M> current = members;
    int hole = member.place();
    int last = size - 1;
    M moved = current.getPlain(last);
    assert hole >= 0 && current.getPlain(hole) == member && moved != null : "not on this roster";
    moved.place(hole);
    current.setRelease(hole, moved);
    size = last;
    current.setRelease(last, null);
    member.place(-1);
  }
}
