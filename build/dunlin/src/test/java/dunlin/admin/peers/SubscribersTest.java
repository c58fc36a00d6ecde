package dunlin.admin.peers;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.peers.AllNodesMXBean.SubscriberPage;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteAccount;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import dunlin.runtime.metrics.NodeBeans;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The pages of a topic's subscribers, over routes of many filters. Each filter has one durable subscriber, whose client identifier is the filter. */
class SubscribersTest {
  private static final String TENANT = "default";
  private static final int FILTERS_OF_PAGE = 100;

  private final NodeBeans beans = new NodeBeans("here");
  private final PeerBeans peers = new PeerBeans(beans, UUID.randomUUID().toString(), new Layout(16, 1));
  private final List<RouteRow> routes = new ArrayList<>();
  private int questions;

  /** The routes of one node, each of which matches every topic. */
  public final class Routes implements RoutesMXBean {
    @Override
    public long getRoutes() {
      return routes.size();
    }

    @Override
    public RouteAccount getAccount() {
      throw new UnsupportedOperationException("account");
    }

    @Override
    public List<RouteRow> match(String tenant, String topic, String after, int max) {
      questions++;
      return routes.stream().filter(route -> route.place().compareTo(after) > 0).sorted(Comparator.comparing(RouteRow::place)).limit(max).toList();
    }
  }

  @BeforeEach
  void register() {
    beans.register("Routes", new Routes());
    InvocationHandler sessions =
        (_, method, arguments) -> {
          if (!method.getName().equals("subscribers")) throw new UnsupportedOperationException(method.getName());
          String filter = (String) arguments[1];
          return filter.compareTo((String) arguments[2]) > 0 ? List.of(new SubscriberRow(filter, "", filter, "", true, 1, -1, -1, 0, -1, -1)) : List.of();
        };
    beans.register("Sessions", Proxy.newProxyInstance(SessionsMXBean.class.getClassLoader(), new Class<?>[] {SessionsMXBean.class}, sessions));
  }

  @AfterEach
  void close() {
    beans.close();
  }

  private void route(String filter, int shards) {
    for (int shard = 0; shard < shards; shard++) routes.add(new RouteRow(filter, "", "inbox", Integer.toString(shard)));
  }

  /** All client identifiers, and how many pages there were. */
  private List<String> all(int max, int[] pages) {
    List<String> clients = new ArrayList<>();
    String after = "";
    do {
      SubscriberPage page = new Subscribers(peers, TENANT).ofTopic("topic", after, max);
      page.subscribers().forEach(row -> clients.add(row.clientId()));
      after = page.next();
      pages[0]++;
    } while (!after.isEmpty());
    return clients;
  }

  @Test
  void aPageReadsTheRoutesOfItsOwnFilters() {
    List<String> filters = IntStream.range(0, 1_000).mapToObj("plant/%04d"::formatted).toList();
    for (String filter : filters) route(filter, 16);
    int[] pages = new int[1];

    assertThat(all(1_000, pages)).isEqualTo(filters);

    assertThat(pages[0]).isEqualTo(filters.size() / FILTERS_OF_PAGE);
    assertThat(questions).as("each of a thousand routes").isLessThanOrEqualTo(3 * pages[0]);
  }

  /** One filter begins with another one and a blank, or a character before the blank. */
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void noFilterIsLeftOutWhateverItsCharacters(long seed) {
    Random random = new Random(seed);
    TreeSet<String> filters = new TreeSet<>();
    while (filters.size() < 350) {
      StringBuilder filter = new StringBuilder("a");
      for (int i = random.nextInt(7); i > 0; i--) filter.append(" a!z\u0001f\uFFFE".charAt(random.nextInt(7)));
      filters.add(filter.toString());
    }
    for (String filter : filters) route(filter, 1 + random.nextInt(12));

    assertThat(all(1 + random.nextInt(1_000), new int[1])).as("seed %d", seed).containsExactlyElementsOf(filters);
  }
}
