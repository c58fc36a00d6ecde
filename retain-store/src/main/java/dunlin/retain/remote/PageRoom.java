package dunlin.retain.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.Failures;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The room that pages of all ranges have together. Each range has a line of its own, with some pages on their way at a time. */
final class PageRoom {
  /*
   * Owner: any thread, under its lock. Pages are asked for outside of it, by one thread at a time.
   * Bounds: bytesMax, or one page alone, and ASKED_MAX pages of each range. A page that is not answered within SLOW_MILLIS, perhaps because its range has no leader,
   *   gives its room back, so that pages of other ranges do not wait for it, and no further page of its range is asked for until it is answered; so there may be
   *   ASKED_MAX such pages more for each range. The callers bound the lines: a session and an operator have one page each.
   * Failure: a page that cannot be asked for fails, and gives its room to the next one.
   */
  private static final long SLOW_MILLIS = 500;

  /** With one at a time, ten thousand clients that subscribe to fifty filters each would hold up all others for minutes. */
  static final int ASKED_MAX = 8;

  private final long bytesMax;
  private final ScheduledExecutorService timer;

  /** Lines of which a page may be asked for; the first is the next one. */
  @GuardedBy("this")
  private final ArrayDeque<Line> ready = new ArrayDeque<>();

  @GuardedBy("this")
  private long taken;

  @GuardedBy("this")
  private boolean turning;

  /** The pages of a range. The room's lock guards its fields. */
  final class Line {
    private final ArrayDeque<Page<?>> waiting = new ArrayDeque<>();
    private int asked;
    private int slow;
    private boolean isReady;

    /** Asks for a page in its turn. */
    <T> CompletableFuture<T> ask(long bytes, Supplier<CompletableFuture<T>> question) {
      var page = new Page<>(this, bytes, question);
      synchronized (PageRoom.this) {
        waiting.add(page);
        offer(this);
      }
      turn();
      return page.answer;
    }
  }

  /** A page that waits, or is on its way. */
  private static final class Page<T> {
    private final Line line;
    private final long bytes;
    private final Supplier<CompletableFuture<T>> question;
    private final CompletableFuture<T> answer = new CompletableFuture<>();
    private boolean hasRoom; // the room's lock guards both
    private boolean isSlow;

    Page(Line line, long bytes, Supplier<CompletableFuture<T>> question) {
      this.line = line;
      this.bytes = bytes;
      this.question = question;
    }
  }

  PageRoom(long bytesMax, ScheduledExecutorService timer) {
    this.bytesMax = bytesMax;
    this.timer = timer;
  }

  Line line() {
    return new Line();
  }

  @GuardedBy("this")
  private void offer(Line line) {
    if (line.isReady || line.waiting.isEmpty() || line.asked == ASKED_MAX || line.slow > 0) return;
    line.isReady = true;
    ready.add(line);
  }

  /** Asks for all pages that have room: one that fails at once makes room for the next. */
  private void turn() {
    synchronized (this) {
      if (turning) return;
      turning = true;
    }
    for (var next = next(); next != null; next = next()) ask(next);
  }

  private synchronized @Nullable Page<?> next() {
    var line = ready.peek();
    var page = line == null ? null : line.waiting.peek();
    turning = page != null && (taken == 0 || taken + page.bytes <= bytesMax);
    if (line == null || page == null || !turning) return null;
    ready.remove();
    line.isReady = false;
    line.waiting.remove();
    line.asked++;
    page.hasRoom = true;
    taken += page.bytes;
    offer(line);
    return page;
  }

  private <T> void ask(Page<T> page) {
    var asked = Failures.inFuture(page.question);
    if (!asked.isDone()) slowLater(page);
    var _ =
        asked.whenComplete(
            (answer, failure) -> {
              answered(page);
              if (failure == null) page.answer.complete(answer);
              else page.answer.completeExceptionally(failure);
            });
  }

  private void slowLater(Page<?> page) {
    try {
      var _ = timer.schedule(() -> slow(page), SLOW_MILLIS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closing) {
      slow(page);
    }
  }

  private void slow(Page<?> page) {
    synchronized (this) {
      if (!page.hasRoom) return;
      giveBack(page);
      page.isSlow = true;
      page.line.slow++;
      if (page.line.isReady) ready.remove(page.line);
      page.line.isReady = false;
    }
    turn();
  }

  private void answered(Page<?> page) {
    synchronized (this) {
      page.line.asked--;
      if (page.isSlow) page.line.slow--;
      if (page.hasRoom) giveBack(page);
      offer(page.line);
    }
    turn();
  }

  @GuardedBy("this")
  private void giveBack(Page<?> page) {
    taken -= page.bytes;
    page.hasRoom = false;
  }
}
