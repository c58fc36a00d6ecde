package dunlin.store.raft;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor.Origin;
import java.nio.ByteBuffer;
import java.util.UUID;

/** A log entry about the range itself, without commands. Its first byte distinguishes it from {@link EntryFormat}'s. */
public sealed interface ControlEntry {
  byte SPLIT = 16;
  byte BASE = 17;

  /** Ends the range at the cut, provided that the range has this epoch. */
  record Split(long epoch, byte[] cut, UUID child) implements ControlEntry {}

  /** The first entry of a range that was split off. A replica that applies it must have its rows from this origin. */
  record Base(Origin origin) implements ControlEntry {}

  /** Peeks at the first byte without consuming it. */
  static boolean is(ByteBuffer entry) {
    if (!entry.hasRemaining()) return false;
    byte kind = entry.get(entry.position());
    return kind == SPLIT || kind == BASE;
  }

  default byte[] toBytes() {
    return FieldWriter.bytesOf(
        out -> {
          switch (this) {
            case Split(var epoch, var cut, var child) -> {
              out.octet(SPLIT);
              out.number(epoch);
              out.bytes(cut);
              out.uuid(child);
            }
            case Base(var origin) -> {
              out.octet(BASE);
              out.uuid(origin.parent());
              out.number(origin.term());
              out.number(origin.index());
            }
          }
        });
  }

  /** @throws IllegalStateException when it is damaged */
  static ControlEntry parse(ByteBuffer entry) {
    return FieldReader.read(
        entry,
        in -> {
          int kind = in.octet();
          return switch (kind) {
            case SPLIT -> new Split(in.number(), in.bytes(), in.uuid());
            case BASE -> new Base(new Origin(in.uuid(), in.number(), in.number()));
            default -> throw new IllegalStateException("control entry of kind " + kind);
          };
        });
  }
}
