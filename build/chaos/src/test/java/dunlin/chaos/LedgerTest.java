package dunlin.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.Ledger.Answer;
import dunlin.chaos.Ledger.Write;
import dunlin.store.RangeWriter;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LedgerTest {
  /** Rows in memory. */
  private static final class Rows implements RangeWriter {
    private final TreeMap<byte[], byte[]> rows = new TreeMap<>(Arrays::compareUnsigned);

    @Override
    public void put(byte[] key, byte[] value) {
      rows.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
      rows.remove(key);
    }

    @Override
    public byte @Nullable [] get(byte[] key) {
      return rows.get(key);
    }

    @Override
    public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
      for (var row : (to == null ? rows.tailMap(from) : rows.subMap(from, to)).entrySet())
        if (!visitor.row(row.getKey(), row.getValue())) return;
    }
  }

  private final Ledger ledger = new Ledger();
  private final Rows rows = new Rows();

  @Test
  void writesGetOnePlaceAfterTheOther() {
    ledger.open(rows);

    assertThat(ledger.apply(List.of(new Write(7, 0), new Write(8, 0)), rows)).containsExactly(new Answer.Placed(1), new Answer.Placed(2));
    assertThat(ledger.apply(List.of(new Write(7, 2)), rows)).as("nothing hides a write that comes twice").containsExactly(new Answer.Placed(3));

    assertThat(Ledger.last(rows)).isEqualTo(3);
    assertThat(rows.get(Ledger.key(3))).isNotNull();
  }

  @Test
  void aLedgerThatEndsBeforeASeenPlaceReportsIt() {
    ledger.open(rows);
    ledger.apply(List.of(new Write(7, 0)), rows);

    assertThat(ledger.apply(List.of(new Write(8, 2), new Write(9, 1)), rows)).containsExactly(new Answer.Behind(1), new Answer.Placed(2));
  }

  @Test
  void aRestartContinuesAfterTheLastPlace() {
    ledger.open(rows);
    ledger.apply(List.of(new Write(7, 0)), rows);

    var again = new Ledger();
    again.open(rows);

    assertThat(again.apply(List.of(new Write(8, 1)), rows)).containsExactly(new Answer.Placed(2));
  }

  @Test
  void writesAreReadAsWrittenAndEveryFlippedBitIsNoticed() {
    var random = new Random(1);
    for (int i = 0; i < 100; i++) {
      var write = new Write(random.nextLong(), random.nextLong());
      var bytes = ByteBuffer.allocate(Ledger.WRITES.encodedLength(write));
      Ledger.WRITES.encode(write, bytes);
      assertThat(bytes.hasRemaining()).isFalse();
      assertThat(Ledger.WRITES.decode(bytes.flip())).isEqualTo(write);

      bytes.rewind();
      int at = random.nextInt(17, bytes.limit());
      bytes.put(at, (byte) (bytes.get(at) ^ (1 << random.nextInt(8))));
      assertThatThrownBy(() -> Ledger.WRITES.decode(bytes)).hasMessageContaining("damaged");
    }
  }
}
