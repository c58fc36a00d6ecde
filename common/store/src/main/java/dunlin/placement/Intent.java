package dunlin.placement;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.UUID;

/**
 * An operation in progress: accepted and not ended.
 *
 * @param voters how many voters its range had when it began; it ends with no fewer
 * @param cancelled whether it is cancelled, and the steps already done are to be undone
 * @param adding the latest configuration of the range for which its leader may have been asked to add the new replica;
 *     {@link #NOT_ADDING} for none
 */
public record Intent(UUID id, Operation operation, int voters, boolean cancelled, long adding) {
  public static final long NOT_ADDING = Long.MIN_VALUE;

  private static final int FORMAT = 2;

  void writeTo(FieldWriter out) {
    out.octet(FORMAT);
    out.uuid(id);
    operation.writeTo(out);
    out.number(voters);
    out.flag(cancelled);
    out.number(adding);
  }

  static Intent readFrom(FieldReader in) {
    in.format(FORMAT, "intent");
    return new Intent(in.uuid(), Operation.readFrom(in), in.count(), in.flag(), in.number());
  }

  Intent cancel() {
    return new Intent(id, operation, voters, true, adding);
  }

  Intent adding(long configuration) {
    return new Intent(id, operation, voters, cancelled, configuration);
  }
}
