package dunlin.store.disk;

import static dunlin.store.CommandKind.CALL;
import static dunlin.store.CommandKind.FLOW;
import static dunlin.store.CommandKind.RELEASE;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.CommandKind;
import dunlin.store.RangeId;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class DiskSpaceTest {
  private static final long GIB = 1L << 30;

  private static final class Disk implements DiskSpace.Source {
    long free;
    long total = 100 * GIB;

    @Override
    public long free() {
      return free;
    }

    @Override
    public long total() {
      return total;
    }
  }

  private final Disk disk = new Disk();

  @Test
  void belowTheLowMarkOnlyReleasesAreAcceptedAndBelowTheCriticalMarkNothing() {
    var space = space(1000, 400);
    assertThat(taken(space, 1000)).containsExactly(FLOW, CALL, RELEASE);
    assertThat(taken(space, 999)).containsExactly(RELEASE);
    assertThat(taken(space, 400)).containsExactly(RELEASE);
    assertThat(taken(space, 399)).isEmpty();
    assertThat(space.refusal(RangeId.firstOf("routes")))
        .hasMessage("range 'routes' takes no commands at all: the node's disk has 399 bytes left, less than 400 (dunlin.store.disk-critical-min)");
  }

  @Test
  void aStateEndsOnlyWhenAQuarterMoreThanItsMarkIsFree() {
    var space = space(1000, 400);
    taken(space, 399);
    assertThat(taken(space, 499)).isEmpty();
    assertThat(taken(space, 500)).containsExactly(RELEASE);
    assertThat(space.refusal(RangeId.firstOf("routes")))
        .hasMessage(
            "range 'routes' takes no commands that need space: the node's disk has 500 bytes left, less than 1000 (dunlin.store.disk-free-min)");
    assertThat(taken(space, 1249)).containsExactly(RELEASE);
    assertThat(taken(space, 1250)).containsExactly(FLOW, CALL, RELEASE);
    assertThat(taken(space, 399)).isEmpty();
    assertThat(taken(space, 1250)).as("both at once").containsExactly(FLOW, CALL, RELEASE);
  }

  @Test
  void defaultMarksDependOnTheDisk() {
    assertThat(taken(space(0, 0), GIB - 1)).containsExactly(RELEASE);
    assertThat(taken(space(0, 0), GIB / 2)).containsExactly(RELEASE);
    assertThat(taken(space(0, 0), GIB / 2 - 1)).isEmpty();
    disk.total = 2000;
    assertThat(taken(space(0, 0), 100)).hasSize(3);
    assertThat(taken(space(0, 0), 99)).containsExactly(RELEASE);
    assertThat(taken(space(0, 0), 49)).isEmpty();
  }

  @Test
  void aCriticalMarkAboveTheLowMarkLeavesNoReserve() {
    assertThat(taken(space(1000, 5000), 1000)).hasSize(3);
    assertThat(taken(space(1000, 5000), 999)).isEmpty();
  }

  @Test
  void aDiskThatCannotBeReadKeepsItsState() {
    var space = space(1000, 400);
    taken(space, 500);
    disk.total = 0;
    assertThat(taken(space, 100_000)).containsExactly(RELEASE);
  }

  @Test
  void whatDidNotFitIsRememberedUntilItWould() {
    var space = space(1000, 400);
    taken(space, 5000);
    assertThat(space.canHold(4000)).isTrue();
    assertThat(space.lacksRoom()).isFalse();

    assertThat(space.canHold(6000)).isFalse();
    assertThat(space.canHold(4500)).isFalse();
    for (long free : new long[] {5000, 7000, 7249}) {
      taken(space, free);
      assertThat(space.lacksRoom()).as("%d bytes are free", free).isTrue();
    }
    taken(space, 7250);
    assertThat(space.lacksRoom()).as("a quarter of the mark more than needed is free").isFalse();
  }

  @Test
  void showsBothMarks() {
    var meters = new SimpleMeterRegistry();
    try (var space = space(1000, 400)) {
      space.show(meters);
      taken(space, 500);
      assertThat(meters.get("dunlin.store.disk.low").gauge().value()).isEqualTo(1);
      assertThat(meters.get("dunlin.store.disk.critical").gauge().value()).isZero();
      taken(space, 300);
      assertThat(meters.get("dunlin.store.disk.low").gauge().value()).isEqualTo(1);
      assertThat(meters.get("dunlin.store.disk.critical").gauge().value()).isEqualTo(1);
    }
    assertThat(meters.getMeters()).isEmpty();
  }

  private DiskSpace space(long low, long critical) {
    disk.free = disk.total;
    return new DiskSpace(disk, low, critical);
  }

  private List<CommandKind> taken(DiskSpace space, long free) {
    disk.free = free;
    space.measure();
    return Arrays.stream(CommandKind.values()).filter(space::takes).toList();
  }
}
