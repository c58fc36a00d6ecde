package dunlin.store.disk;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor;
import dunlin.store.raft.ControlEntry;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A replica's knowledge of its range as of the last applied entry, kept in the same row as the position. A range that
 * is not placed, as on a single node, has none.
 *
 * @param range with the peers of the last configuration that was applied
 * @param configuration index of that configuration's entry, -1 before the first
 * @param based whether the rows are confirmed: false only for a range that was split off and has not applied {@link
 *     ControlEntry.Base}
 */
public record Placed(RangeDescriptor range, long configuration, boolean based) {
  public static Placed begin(RangeDescriptor range) {
    return new Placed(range, -1, range.split() == null);
  }

  public Placed with(List<UUID> peers, long index) {
    return new Placed(range.withPeers(peers), index, based);
  }

  /** The same with other keys, of the next epoch. */
  public Placed with(RangeDescriptor changed) {
    return new Placed(changed, configuration, based);
  }

  public Placed confirmed() {
    return new Placed(range, configuration, true);
  }

  void writeTo(FieldWriter out) {
    range.writeTo(out);
    out.number(configuration);
    out.flag(based);
  }

  static Placed readFrom(FieldReader in) {
    return new Placed(RangeDescriptor.readFrom(in), in.number(), in.flag());
  }

  /** The row of the empty key: format 1 is a position alone, format 2 is followed by a Placed. */
  record Head(LogPosition position, @Nullable Placed placed) {
    private static final int POSITION = 1;
    private static final int PLACED = 2;

    static Head read(byte @Nullable [] row) {
      if (row == null) return new Head(LogPosition.NONE, null);
      return FieldReader.read(
          row,
          in -> {
            int format = in.octet();
            if (format != POSITION && format != PLACED)
              throw new IllegalStateException("the format of its position is unknown: " + format);
            var where = in.uuid(); // two longs
            var position = new LogPosition(where.getMostSignificantBits(), where.getLeastSignificantBits());
            return new Head(position, format == PLACED ? Placed.readFrom(in) : null);
          });
    }

    byte[] toBytes() {
      var known = placed;
      return FieldWriter.bytesOf(
          out -> {
            out.octet(known == null ? POSITION : PLACED);
            out.uuid(new UUID(position.term(), position.index()));
            if (known != null) known.writeTo(out);
          });
    }
  }
}
