package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.model.TenantQuota;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class AgreedQuotaTest {
  private final AtomicInteger reached = new AtomicInteger();

  /** What the other nodes say when they are asked next. */
  private final BlockingQueue<SequencedMap<String, String>> answers = new LinkedBlockingQueue<>();

  private final AtomicInteger asked = new AtomicInteger();
  private final AgreedQuota quota =
      new AgreedQuota(new Five(), new Agreement("the limit inbox-bytes of tenants", () -> Optional.of(Set.of("2")), () -> Optional.of(Set.of("2")), _ -> ask()));

  /** Tenant "blue" may have five. */
  private final class Five implements TenantQuota {
    @Override
    public long max(String tenant) {
      return tenant.equals("blue") ? 5 : NONE;
    }

    @Override
    public void reached(String tenant) {
      reached.incrementAndGet();
    }
  }

  private SequencedMap<String, String> ask() {
    asked.incrementAndGet();
    var answer = answers.poll();
    if (answer == null) throw new IllegalStateException("no node answers");
    return answer;
  }

  private void look(int count) {
    await()
        .atMost(Duration.ofMinutes(1))
        .until(
            () -> {
              quota.look();
              return asked.get() >= count;
            });
  }

  @Test
  void noTenantIsLimitedUntilAllNodesHaveSaidThatTheyCanApplyIt() {
    assertThat(quota.max("blue")).isEqualTo(TenantQuota.NONE);
    answers.add(new LinkedHashMap<>(Map.of("2", "node 2 has not said so")));
    look(1);
    assertThat(quota.max("blue")).isEqualTo(TenantQuota.NONE);
    look(2); // no node answers
    assertThat(quota.max("blue")).isEqualTo(TenantQuota.NONE);

    answers.add(new LinkedHashMap<>());
    await()
        .atMost(Duration.ofMinutes(1))
        .until(
            () -> {
              quota.look();
              return quota.max("blue") == 5;
            });
    int before = asked.get();
    quota.look();
    assertThat(asked).as("what was said is believed").hasValue(before);
    assertThat(quota.max("green")).isEqualTo(TenantQuota.NONE);
  }

  @Test
  void nothingIsAskedWhileNoTenantHasALimit() {
    assertThat(quota.max("green")).isEqualTo(TenantQuota.NONE);
    quota.look();
    assertThat(asked).hasValue(0);
  }

  @Test
  void whatReachesTheLimitIsNoted() {
    quota.reached("blue");
    assertThat(reached).hasValue(1);
  }
}
