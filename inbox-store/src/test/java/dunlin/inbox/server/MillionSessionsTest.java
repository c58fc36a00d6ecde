package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.operate.SessionOperations;
import dunlin.inbox.operate.SessionPart;
import dunlin.inbox.range.RangeHarness;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import java.lang.management.ManagementFactory;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * A listing of many sessions by pages: beside the sessions themselves, a page takes as much memory for a million as for a few, and others have their turn while it is
 * looked for.
 */
class MillionSessionsTest {
  private static final String TENANT = "default";
  private static final int MANY = 1_000_000;
  private static final int FEW = 10_000;
  private static final int PAGE = 1_000;

  /** Twice what the rows of a page, their order and their texts need. */
  private static final long PAGE_BYTES_MAX = 1 << 20;

  private static final int PAGES = 5;

  /** How often others have their turn while a million sessions are looked at, at least. */
  private static final int TURNS_MIN = 50;

  /** A listing reads no rows and proposes nothing. */
  private record Unused() implements Range<Object, Object> {
    @Override
    public boolean propose(Object command, Completion<Object> completion) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean whenRoom(Runnable caller) {
      throw new UnsupportedOperationException();
    }

    @Override
    public RangeReader reader() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Executor readers() {
      throw new UnsupportedOperationException();
    }
  }

  private static String clientId(int number) {
    return "meter-%07d".formatted(number);
  }

  private final AtomicInteger turns = new AtomicInteger();

  private static RangeState stateOf(int sessions) {
    var state = new RangeState(RangeHarness.INTERVAL);
    for (int i = 0; i < sessions; i++) {
      var key = new SessionKey(TENANT, clientId(i));
      state.sessions.put(key, new SessionState(key, "", i + 1L));
    }
    return state;
  }

  private SessionOperations with(int sessions, Connections unused) {
    return with(stateOf(sessions), unused);
  }

  private SessionOperations with(RangeState state, Connections unused) {
    return new SessionOperations(
        List.of(new SessionPart(state, new Unused(), _ -> Long.MAX_VALUE, SessionState::handed)), (_, _) -> CompletableFuture.completedFuture(false), unused, InstantSource.system(),
        turns::incrementAndGet);
  }

  /** Reads pages that are spread over all sessions; answers the most bytes that one of them has allocated. */
  private static long readsPages(SessionOperations operations, int sessions) {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long most = 0;
    for (int first = 0; first < sessions; first += sessions / PAGES) {
      String after = first == 0 ? "" : clientId(first - 1);
      long before = threads.getCurrentThreadAllocatedBytes();
      List<SessionRow> page = operations.list(TENANT, "", after, Math.min(PAGE, sessions / PAGES));
      most = Math.max(most, threads.getCurrentThreadAllocatedBytes() - before);
      int end = first + Math.min(PAGE, sessions / PAGES);
      assertThat(page).extracting(SessionRow::clientId).isEqualTo(IntStream.range(first, end).mapToObj(MillionSessionsTest::clientId).toList());
    }
    return most;
  }

  @Test
  void aPageOfAMillionSessionsTakesAsMuchMemoryAsOneOfTenThousand() throws Exception {
    try (var node = new InboxNode(null, InboxSettings.defaults())) {
      SessionOperations few = with(FEW, node);
      SessionOperations many = with(MANY, node);
      readsPages(few, FEW); // loads classes

      assertThat(readsPages(few, FEW)).isPositive().isLessThan(PAGE_BYTES_MAX);
      assertThat(readsPages(many, MANY)).isLessThan(PAGE_BYTES_MAX);
      assertThat(many.getSessions()).isEqualTo(MANY);
    }
  }

  @Test
  void aFilterThatFewMeetKeepsOthersFromNothing() throws Exception {
    try (var node = new InboxNode(null, InboxSettings.defaults())) {
      SessionOperations many = with(MANY, node);
      var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      long before = threads.getCurrentThreadAllocatedBytes();

      assertThat(many.list(TENANT, clientId(MANY - 1), "", PAGE)).extracting(SessionRow::clientId).containsExactly(clientId(MANY - 1));
      assertThat(turns.getAndSet(0)).as("turns of others").isGreaterThan(TURNS_MIN);
      assertThat(many.list("other", "", "", PAGE)).isEmpty();
      assertThat(turns.getAndSet(0)).as("turns of others").isGreaterThan(TURNS_MIN);
      assertThat(many.list(TENANT, "", clientId(MANY - 2), PAGE)).hasSize(1);
      assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(PAGE_BYTES_MAX);

      turns.set(0);
      assertThat(many.list(TENANT, clientId(MANY / 2), "", 1)).hasSize(1);
      assertThat(turns).as("one that is named is not looked for").hasValue(0);
      assertThat(many.list(TENANT, "meter-000", "", 1)).extracting(SessionRow::clientId).as("a prefix that names none").containsExactly(clientId(0));
    }
  }

  @Test
  void aListingThatGoesOnLooksAtAllOnceForManyPages() throws Exception {
    try (var node = new InboxNode(null, InboxSettings.defaults())) {
      int sessions = 5 * FEW;
      SessionOperations operations = with(sessions, node);
      operations.list(TENANT, "", "", PAGE);
      int once = turns.getAndSet(0);
      assertThat(once).isPositive();

      List<String> listed = new ArrayList<>();
      for (String after = ""; ; after = listed.getLast()) {
        List<SessionRow> page = operations.list(TENANT, "", after, PAGE);
        if (page.isEmpty()) break;
        for (SessionRow row : page) listed.add(row.clientId());
      }
      assertThat(listed).isEqualTo(IntStream.range(0, sessions).mapToObj(MillionSessionsTest::clientId).toList());
      assertThat(turns.get() / once).as("how often it has looked at all").isLessThan(sessions / PAGE / 5);
    }
  }

  @Test
  void aListingThatBeginsFindsWhatHasComeSinceAnotherOne() throws Exception {
    try (var node = new InboxNode(null, InboxSettings.defaults())) {
      var state = stateOf(3 * PAGE);
      SessionOperations operations = with(state, node);
      String first = operations.list(TENANT, "", "", PAGE).getLast().clientId();
      String second = operations.list(TENANT, "", first, PAGE).getLast().clientId();
      state.sessions.remove(new SessionKey(TENANT, clientId(2 * PAGE)));
      String come = second + "+";
      state.sessions.put(new SessionKey(TENANT, come), new SessionState(new SessionKey(TENANT, come), "", 0));

      assertThat(operations.list(TENANT, "", second, PAGE / 2)).extracting(SessionRow::clientId).as("without the one that is gone").startsWith(clientId(2 * PAGE + 1));
      operations.list(TENANT, "", "", PAGE);
      assertThat(operations.list(TENANT, "", second, PAGE / 2)).extracting(SessionRow::clientId).startsWith(come, clientId(2 * PAGE + 1));
    }
  }

  @Test
  void aListingFromAnywhereGetsWhatFollows() throws Exception {
    try (var node = new InboxNode(null, InboxSettings.defaults())) {
      SessionOperations operations = with(FEW, node);
      for (int after : new int[] {10, 5, 3_000, 2_999, FEW - 10, 11, FEW - 1}) {
        assertThat(operations.list(TENANT, "", clientId(after), 7)).extracting(SessionRow::clientId)
            .isEqualTo(IntStream.range(after + 1, Math.min(FEW, after + 8)).mapToObj(MillionSessionsTest::clientId).toList());
        assertThat(operations.list(TENANT, "meter-000000", clientId(after), 7)).hasSize(Math.clamp(9 - after, 0, 7));
      }
    }
  }
}
