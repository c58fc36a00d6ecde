package dunlin.inbox.propose;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.state.RangeState;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class TenantInboxesTest {
  private static final GroupKey GROUP = new GroupKey("blue", TopicFilter.parse("$share/g/a").orElseThrow());

  private final RangeState first = new RangeState(ShardInterval.whole(4));
  private final RangeState second = new RangeState(ShardInterval.whole(4));
  private final TenantInboxes inboxes = new TenantInboxes(List.of(first, second), tenant -> tenant.equals("blue") ? 5 : 0);

  /** Tenant "blue" may have 100 bytes. */
  private static final class Hundred implements TenantQuota {
    @Override
    public long max(String tenant) {
      return tenant.equals("blue") ? 100 : NONE;
    }

    @Override
    public void reached(String tenant) {}
  }

  @BeforeEach
  void limit() {
    inboxes.limit(new Hundred());
  }

  private static SessionCommand append(String tenant) {
    byte[] body = "am".getBytes(StandardCharsets.UTF_8);
    var message = new Publication(new Publisher(tenant, "p"), QoS.AT_LEAST_ONCE, false, 1, -1, -1, 1, 0, body, null);
    return new SessionCommand.Append(1, message, null, null, List.of(), true, 0);
  }

  @Test
  void aCommandCarriesTheLimitWithoutWhatOtherRangesHold() {
    first.queuedByTenant.count("blue", 40);
    second.queuedByTenant.count("blue", 20);
    second.queuedByTenant.count("green", 1_000);
    var append = append("blue");

    assertThat(inboxes.bounded(first, append)).isEqualTo(new TenantInboxes.Bounded(new SessionCommand.Beside(0, 0, 0, 75, append), "blue"));
    assertThat(inboxes.bounded(second, append)).isEqualTo(new TenantInboxes.Bounded(new SessionCommand.Beside(0, 0, 0, 55, append), "blue"));
    var beside = new SessionCommand.Beside(1, 2, 3, append);
    assertThat(inboxes.bounded(first, beside)).isEqualTo(new TenantInboxes.Bounded(new SessionCommand.Beside(1, 2, 3, 75, append), "blue"));
  }

  @Test
  void nothingIsLeftWhereOthersHoldMore() {
    second.queuedByTenant.count("blue", 200);
    assertThat(inboxes.mostIn(first, "blue")).isZero();
  }

  @Test
  void commandsOfTenantsWithoutALimitStayAsTheyAre() {
    assertThat(inboxes.bounded(first, append("green"))).isNull();
    assertThat(inboxes.mostIn(first, "green")).isEqualTo(TenantQuota.NONE);
    inboxes.limit(TenantQuota.UNLIMITED);
    assertThat(inboxes.bounded(first, append("blue"))).isNull();
  }

  @Test
  void whatOnlyMovesOrLeavesIsNotBounded() {
    assertThat(inboxes.bounded(first, new SessionCommand.DrainGroup(1, GROUP, 10))).isNull();
    assertThat(inboxes.bounded(first, new SessionCommand.AcceptTransfer(1, GROUP, 1, List.of()))).isNull();
    assertThat(inboxes.bounded(first, new SessionCommand.Unsubscribe(new SessionRef("blue", "c", 1), List.of()))).isNull();
  }
}
