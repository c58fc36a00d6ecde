package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import dunlin.store.raft.RangeFence.SplitOutcome.Cut;
import dunlin.store.raft.RangeFence.SplitOutcome.Stale;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RangeFenceTest {
  private static final UUID CHILD = new UUID(1, 2);
  private static final byte[] CUT = {50};
  private static final RangeDescriptor RANGE =
      new RangeDescriptor(new UUID(1, 1), "routes", KeyInterval.between(new byte[] {10}, new byte[] {90}), 3, List.of(), null);

  private final RangeFence fence = new RangeFence(RANGE);

  @Test
  void onlyItsKeysInItsEpochAreAdmitted() {
    assertThat(fence.admits(3, new byte[] {10})).isTrue();
    assertThat(fence.admits(2, new byte[] {10})).as("an old map").isFalse();
    assertThat(fence.admits(4, new byte[] {10})).as("an old replica").isFalse();
    assertThat(fence.admits(3, new byte[] {9})).isFalse();
    assertThat(fence.admits(3, new byte[] {90})).isFalse();
    assertThat(fence.admits(3, KeyInterval.between(new byte[] {20}, new byte[] {90}))).isTrue();
    assertThat(fence.admits(3, KeyInterval.between(new byte[] {20}, new byte[] {91}))).isFalse();
    assertThat(fence.admits(2, RANGE.keys())).isFalse();
  }

  @Test
  void aSplitFencesTheUpperHalfAtItsIndex() {
    var cut = (Cut) fence.split(3, CUT, CHILD, 2, 77);

    assertThat(cut.lower()).isEqualTo(RANGE.lower(CUT));
    assertThat(cut.upper()).isEqualTo(RANGE.upper(CUT, CHILD, new Origin(RANGE.id(), 2, 77)));
    var lower = new RangeFence(cut.lower());
    var upper = new RangeFence(cut.upper());
    assertThat(lower.admits(3, new byte[] {10})).as("a caller with the old map must ask again, for either half").isFalse();
    assertThat(lower.admits(4, new byte[] {49})).isTrue();
    assertThat(lower.admits(4, CUT)).isFalse();
    assertThat(upper.admits(4, CUT)).isTrue();
    assertThat(upper.admits(4, new byte[] {49})).isFalse();
  }

  @Test
  void aSplitThatIsLateOrImpossibleChangesNothing() {
    assertThat(fence.split(2, CUT, CHILD, 2, 77)).isEqualTo(new Stale(RANGE));
    assertThat(fence.split(3, new byte[] {10}, CHILD, 2, 77)).as("nothing would be left").isEqualTo(new Stale(RANGE));
    assertThat(fence.split(3, new byte[] {95}, CHILD, 2, 77)).isEqualTo(new Stale(RANGE));
    assertThat(fence.split(3, CUT, RANGE.id(), 2, 77)).isEqualTo(new Stale(RANGE));
    var lower = ((Cut) fence.split(3, CUT, CHILD, 2, 77)).lower();
    assertThat(new RangeFence(lower).split(3, CUT, CHILD, 2, 78)).as("the same once more").isEqualTo(new Stale(lower));
  }

  @Test
  void aChildIsMadeOnceOnEachReplica() {
    var upper = ((Cut) fence.split(3, CUT, CHILD, 2, 77)).upper();

    assertThat(RangeFence.makesChild(null, upper)).isTrue();
    assertThat(RangeFence.makesChild(upper, upper)).as("applied again after a crash").isFalse();
    var goneOn = upper.lower(new byte[] {70});
    assertThat(RangeFence.makesChild(goneOn, upper)).as("the child has been split meanwhile").isFalse();
    var foreign = RANGE.upper(CUT, CHILD, new Origin(RANGE.id(), 2, 78));
    assertThatThrownBy(() -> RangeFence.makesChild(foreign, upper)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aChildWithOtherRowsStops() {
    var origin = new Origin(RANGE.id(), 2, 77);
    RangeFence.requireOrigin(RANGE.upper(CUT, CHILD, origin), origin);
    assertThatThrownBy(() -> RangeFence.requireOrigin(RANGE, origin))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("origin");
  }
}
