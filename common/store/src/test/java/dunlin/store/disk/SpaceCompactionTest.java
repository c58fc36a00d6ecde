package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.raft.OneRange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

class SpaceCompactionTest {
  private static final long LOW = 1000;
  private static final long CRITICAL = 400;
  private static final long NOW = 1_000_000;

  private final class Some implements SpaceCompaction.Rows {
    private final RangeId id;
    long deleted;
    boolean fails;

    Some(int number) {
      id = RangeId.firstOf("range-" + number);
    }

    @Override
    public RangeId id() {
      return id;
    }

    @Override
    public long deleted() {
      return deleted;
    }

    @Override
    public void compact() {
      compacted.add(this);
      if (fails) throw new StoreException("as the test wants it");
    }
  }

  private final List<Some> compacted = new ArrayList<>();
  private final Queue<Runnable> thread = new ArrayDeque<>();
  private final OneRange.RoomyDisk disk = new OneRange.RoomyDisk();
  private final DiskSpace space = new DiskSpace(disk, LOW, CRITICAL);
  private final SpaceCompaction compaction = new SpaceCompaction(thread::add);
  private final Some first = new Some(1);
  private final Some second = new Some(2);

  @Test
  void doesNothingWhileTheDiskIsNotLow() {
    first.deleted = 1000;
    look(LOW, NOW);
    assertThat(thread).isEmpty();
  }

  @Test
  void compactsEachRangeOnceWhenTheDiskBecomesLow() {
    look(LOW - 1, NOW);
    look(LOW - 1, NOW + 1);
    assertThat(thread).as("one at a time").hasSize(1);
    thread.remove().run();
    look(LOW - 1, NOW + 2);
    thread.remove().run();
    assertThat(compacted).containsExactly(first, second);

    look(LOW - 1, NOW + 10 * SpaceCompaction.PAUSE_NANOS);
    assertThat(thread).as("nothing was deleted since").isEmpty();
    look(LOW * 2, NOW + 11 * SpaceCompaction.PAUSE_NANOS);
    look(LOW - 1, NOW + 12 * SpaceCompaction.PAUSE_NANOS);
    assertThat(thread).as("low once more").hasSize(1);
  }

  @Test
  void compactsARangeWithMoreDeletedRowsAgainAfterAPause() {
    look(LOW - 1, NOW);
    first.deleted = 5; // while the compaction runs
    thread.remove().run();
    look(LOW - 1, NOW + 1);
    thread.remove().run();
    compacted.clear();

    look(LOW - 1, NOW + SpaceCompaction.PAUSE_NANOS);
    assertThat(thread).as("too soon").isEmpty();
    look(LOW - 1, NOW + 1 + SpaceCompaction.PAUSE_NANOS);
    thread.remove().run();
    look(LOW - 1, NOW + 9 * SpaceCompaction.PAUSE_NANOS);
    assertThat(thread).isEmpty();
    assertThat(compacted).containsExactly(first);
  }

  @Test
  void doesNotCompactWhenTheReserveIsUsedUp() {
    look(CRITICAL - 1, NOW);
    assertThat(thread).isEmpty();
    look(LOW - 1, NOW + 1);
    assertThat(thread).hasSize(1);
  }

  @Test
  void aFailedCompactionDoesNotStopTheOthers() {
    first.fails = true;
    look(LOW - 1, NOW);
    thread.remove().run();
    look(LOW - 1, NOW + 1);
    thread.remove().run();
    assertThat(compacted).containsExactly(first, second);
  }

  private void look(long free, long nowNanos) {
    disk.free = free;
    space.measure();
    compaction.look(List.of(first, second), space, nowNanos);
  }
}
