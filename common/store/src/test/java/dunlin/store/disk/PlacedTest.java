package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import dunlin.store.RangeId;
import dunlin.store.disk.Placed.Head;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The row with a range's position. */
class PlacedTest {
  private static final UUID ID = RangeId.firstOf("routes").uuid();
  private static final UUID PEER = UUID.randomUUID();

  @Test
  void aRangeThatIsNotPlacedHasARowOfSeventeenBytes() {
    byte[] row = new Head(new LogPosition(3, 77), null).toBytes();

    assertThat(row).isEqualTo(ByteBuffer.allocate(17).put((byte) 1).putLong(3).putLong(77).array());
    assertThat(Head.read(row)).isEqualTo(new Head(new LogPosition(3, 77), null));
  }

  @Test
  void aPlacedRangeKeepsItsDescriptorBesideThePosition() {
    var origin = new Origin(UUID.randomUUID(), 2, 9);
    var range = new RangeDescriptor(ID, "routes", KeyInterval.between(new byte[] {1}, null), 4, List.of(PEER), origin);
    var placed = Placed.begin(range);
    assertThat(placed.based()).isFalse();

    for (var each : List.of(placed, placed.confirmed(), placed.with(List.of(), 12))) {
      byte[] row = new Head(new LogPosition(3, 77), each).toBytes();
      assertThat(Head.read(row)).isEqualTo(new Head(new LogPosition(3, 77), each));
    }
  }

  @Test
  void aDamagedRowIsRefused() {
    var range = new RangeDescriptor(ID, "routes", KeyInterval.all(), 1, List.of(PEER), null);
    byte[] row = new Head(new LogPosition(3, 77), Placed.begin(range)).toBytes();

    for (int length = 0; length < row.length; length++) {
      byte[] part = Arrays.copyOf(row, length);
      assertThatThrownBy(() -> Head.read(part)).as("%d bytes", length).isInstanceOf(IllegalStateException.class);
    }
    byte[] newer = row.clone();
    newer[0] = 9;
    assertThatThrownBy(() -> Head.read(newer)).isInstanceOf(IllegalStateException.class).hasMessageContaining("format");
  }
}
