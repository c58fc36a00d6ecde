package dunlin.transport;

import java.util.LinkedHashSet;

/**
 * The {@linkplain Terms#fence fences} of the last connections of which one destination has refused a message. It refuses their later messages, too, since these would
 * overtake it: their clients are disconnected, and send all again over other connections.
 */
public final class RefusedFences {
  /*
   * Owner: the thread that refuses.
   * Bounds: MAX fences; the oldest is forgotten first.
   * Failure: if one was forgotten too early, a message behind the refused one is delivered, and again when the client sends both.
   */
  private static final int MAX = 4_096;

  /** The last one last. */
  private final LinkedHashSet<Long> fences = new LinkedHashSet<>(2);

  /** A message was refused; 0 for one whose refusal closes nothing. */
  public void add(long fence) {
    if (fence == 0 || !fences.add(fence)) return;
    if (fences.size() > MAX) fences.removeFirst();
  }

  /** Whether no connection is known. */
  public boolean isEmpty() {
    return fences.isEmpty();
  }

  public boolean contains(long fence) {
    return fence != 0 && !fences.isEmpty() && fences.contains(fence);
  }
}
