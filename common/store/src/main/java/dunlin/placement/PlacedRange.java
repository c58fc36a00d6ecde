package dunlin.placement;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor;

/**
 * A range in the map.
 *
 * @param configuration the index in the range's log of the configuration that the peers are from; -1 before the first
 */
public record PlacedRange(RangeDescriptor range, long configuration) {
  private static final int FORMAT = 1;

  void writeTo(FieldWriter out) {
    out.octet(FORMAT);
    range.writeTo(out);
    out.number(configuration);
  }

  static PlacedRange readFrom(FieldReader in) {
    in.format(FORMAT, "placed range");
    return new PlacedRange(RangeDescriptor.readFrom(in), in.number());
  }
}
