package dunlin.placement;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.UUID;

/**
 * An operation in progress: accepted and not ended.
 *
 * @param voters how many voters its range had when it began; it ends with no fewer
 * @param cancelled whether it is cancelled, and the steps already done are to be undone
 */
public record Intent(UUID id, Operation operation, int voters, boolean cancelled) {
  private static final int FORMAT = 1;

  void writeTo(FieldWriter out) {
    out.octet(FORMAT);
    out.uuid(id);
    operation.writeTo(out);
    out.number(voters);
    out.flag(cancelled);
  }

  static Intent readFrom(FieldReader in) {
    in.format(FORMAT, "intent");
    return new Intent(in.uuid(), Operation.readFrom(in), in.count(), in.flag());
  }
}
