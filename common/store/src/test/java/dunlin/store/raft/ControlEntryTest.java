package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.RangeDescriptor.Origin;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The entries that change a range itself. */
class ControlEntryTest {
  @Test
  void controlEntriesAreDistinguishedFromCommands() {
    var split = new ControlEntry.Split(3, new byte[] {7, 8}, UUID.randomUUID());
    var read = ControlEntry.parse(ByteBuffer.wrap(split.toBytes()));
    assertThat(read).isInstanceOfSatisfying(ControlEntry.Split.class, same -> {
      assertThat(same.epoch()).isEqualTo(3);
      assertThat(same.cut()).isEqualTo(split.cut());
      assertThat(same.child()).isEqualTo(split.child());
    });
    var base = new ControlEntry.Base(new Origin(UUID.randomUUID(), 2, 9));
    assertThat(ControlEntry.parse(ByteBuffer.wrap(base.toBytes()))).isEqualTo(base);

    for (var control : List.of(split, base)) {
      assertThat(ControlEntry.is(ByteBuffer.wrap(control.toBytes()))).isTrue();
      assertThatThrownBy(() -> EntryFormat.decode(ByteBuffer.wrap(control.toBytes()), Command.CODEC)).isInstanceOf(IllegalStateException.class);
    }
    for (long epoch : new long[] {1, 2}) {
      var commands = ByteBuffer.allocate(EntryFormat.headerBytes(epoch));
      EntryFormat.begin(commands, epoch, 0);
      assertThat(ControlEntry.is(commands.flip())).isFalse();
      assertThat(EntryFormat.decode(commands, Command.CODEC).epoch()).isEqualTo(epoch);
    }
    assertThat(ControlEntry.is(ByteBuffer.allocate(0))).isFalse();
  }
}
