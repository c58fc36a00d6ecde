package dunlin.store.ways;

import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * What the leaders of all ranges have answered last to a question that is asked again and again, as what they have. A range that has never answered is not there.
 *
 * @param <L> links to leaders
 * @param <A> answers
 */
public final class RangeAnswers<L extends RangeLink, A> {
  /*
   * Owner: any thread.
   * Bounds: an answer for each range, and one question on its way to each.
   * Failure: where a question fails, the answer of before stays.
   */
  /** Who asks more often than this has the answers of before. */
  private static final long ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final Function<L, CompletableFuture<A>> question;

  /** By range, at its present epoch. */
  private final Map<UUID, A> answers = new ConcurrentHashMap<>();

  /** Ranges that have been asked, and have not answered yet. */
  private final Set<UUID> asked = ConcurrentHashMap.newKeySet();

  private final AtomicLong askedNanos = new AtomicLong(System.nanoTime() - ASK_NANOS);

  public RangeAnswers(Function<L, CompletableFuture<A>> question) {
    this.question = question;
  }

  /** Asks all ranges that are known, unless that was done a moment ago; the answers come later. */
  public void ask(RangeRouter<L> ranges) {
    long before = askedNanos.get();
    long now = System.nanoTime();
    if (now - before < ASK_NANOS || !askedNanos.compareAndSet(before, now)) return;
    for (var range : ranges.known()) if (asked.add(range.range())) ask(range, ranges);
  }

  private void ask(RangeRouter.Known<L> range, RangeRouter<L> ranges) {
    var _ =
        question
            .apply(range.link())
            .whenComplete(
                (answer, failure) -> {
                  if (failure == null && ranges.known().contains(range)) answers.put(range.range(), answer);
                  asked.remove(range.range());
                });
  }

  /** Forgets what a range has answered: it was of other keys. */
  public void forget(UUID range) {
    answers.remove(range);
  }

  /** The answers of all ranges. */
  public Stream<A> all() {
    return answers.values().stream();
  }

  /** The answers of all ranges but one. */
  public Stream<A> elsewhere(UUID range) {
    return answers.entrySet().stream().filter(each -> !each.getKey().equals(range)).map(Map.Entry::getValue);
  }
}
