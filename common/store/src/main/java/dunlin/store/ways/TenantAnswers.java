package dunlin.store.ways;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.stream.Stream;

/**
 * What the leaders of all ranges have answered last of the tenants that are wanted, as what these have there.
 *
 * @param <L> links to leaders
 * @param <A> answers, one for each tenant
 */
public final class TenantAnswers<L extends RangeLink, A> {
  /*
   * Owner: any thread.
   * Bounds: WantedTenants; RangeAnswers bounds what is on its way.
   * Failure: where a question fails, the answer of before stays.
   */
  private final WantedTenants wanted = new WantedTenants();
  private final RangeAnswers<L, Map<String, A>> answers;

  /** @param question of at most {@link WantedTenants#TENANTS_MAX} tenants, with an answer for each in their order */
  public TenantAnswers(BiFunction<L, List<String>, CompletableFuture<List<A>>> question) {
    answers =
        new RangeAnswers<>(
            link -> {
              var tenants = wanted.list();
              return question.apply(link, tenants).thenApply(answer -> WantedTenants.byTenant(tenants, answer));
            });
  }

  /** Asks all ranges of a cluster with several, unless nothing is wanted or that was done a moment ago; the answers come later. */
  public void ask(RangeRouter<L> ranges) {
    if (ranges.known().size() > 1 && !wanted.list().isEmpty()) answers.ask(ranges);
  }

  /** Forgets what a range has answered: it was of other keys. */
  public void forget(UUID range) {
    answers.forget(range);
  }

  /** What all ranges but one have answered of a tenant; nothing when it was not wanted before. */
  public Stream<A> elsewhere(UUID range, String tenant) {
    wanted.want(tenant);
    return answers.elsewhere(range).map(each -> each.get(tenant)).filter(Objects::nonNull);
  }
}
