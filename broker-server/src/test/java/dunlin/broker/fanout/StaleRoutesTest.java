package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.model.Publisher;
import dunlin.model.TopicFilter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each test acts in one task of the event loop, so that no removal begins before its end. */
class StaleRoutesTest {
  private static final Duration SOON = Duration.ofMinutes(1);
  private static final String TENANT = Publisher.DEFAULT_TENANT;

  private final OpenFrontend open = new OpenFrontend(1);
  private final List<String> removed = Collections.synchronizedList(new ArrayList<>());
  private final StaleRoutes stale = onLoop(() -> new StaleRoutes(open.fanout().on(0).loop(), handle -> removed.add(handle.filter().text())));

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void eachIsRemovedOnceInOrder() {
    assertThat(added("a", "b", "a", "c")).isEqualTo(3);
    await().atMost(SOON).until(() -> removed.size() == 3);
    assertThat(removed).containsExactly("a", "b", "c");
    assertThat(added("d")).isEqualTo(1);
    await().atMost(SOON).until(() -> removed.size() == 4);
  }

  @Test
  void oneThatIsUsedAgainStays() {
    onLoop(
        () -> {
          stale.add(handle("a"));
          stale.add(handle("b"));
          stale.used(RouteTable.Key.of(handle("a")));
          stale.used(RouteTable.Key.of(handle("never")));
          return stale;
        });
    await().atMost(SOON).until(() -> !removed.isEmpty());
    assertThat(removed).containsExactly("b");
  }

  @Test
  void theOldestAreAbandonedWhenThereAreTooMany() {
    String[] filters = new String[StaleRoutes.ROUTES_MAX + 3];
    for (int i = 0; i < filters.length; i++) filters[i] = "f/" + i;
    assertThat(added(filters)).isEqualTo(StaleRoutes.ROUTES_MAX);
    assertThat(stale.abandoned()).isEqualTo(3);
    await().atMost(SOON).until(() -> removed.size() == StaleRoutes.ROUTES_MAX);
    assertThat(removed.getFirst()).isEqualTo("f/3");
  }

  @Test
  void theOldestAreAbandonedWhenTheyTakeTooMuchMemory() {
    String[] filters = new String[20];
    for (int i = 0; i < filters.length; i++) filters[i] = "x".repeat(60_000) + (10 + i);
    int fit = StaleRoutes.BYTES_MAX / (60_002 + TENANT.length());
    assertThat(added(filters)).isEqualTo(fit);
    assertThat(stale.abandoned()).isEqualTo(filters.length - fit);
    // Those that were removed, used again or abandoned count no more.
    await().atMost(SOON).until(() -> removed.size() == fit);
    onLoop(
        () -> {
          stale.add(handle(filters[0]));
          stale.used(RouteTable.Key.of(handle(filters[0])));
          return stale;
        });
    assertThat(added(filters)).isEqualTo(fit);
  }

  /** Adds them all, and returns how many there are then. */
  private int added(String... filters) {
    return onLoop(
        () -> {
          for (String filter : filters) stale.add(handle(filter));
          return stale.size();
        });
  }

  private static FilterHandle handle(String filter) {
    return new FilterHandle(TENANT, TopicFilter.plain(filter), 1, 1);
  }

  private <T> T onLoop(Callable<T> action) {
    return open.on(0, action);
  }
}
