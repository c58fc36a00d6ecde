package dunlin.placement;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.time.Duration;

/**
 * How far an operation has come, as the leader of the meta group sees it.
 *
 * @param step the step that it is at, from 1; 0 while that is not known
 * @param steps how many steps there are
 * @param doing what the step does
 * @param left how much is left of the step, in the unit; -1 while that is not known, and where the step is not measured
 * @param unit {@code entries} of the log, {@code bytes} or {@code replicas}; empty where the step is not measured
 * @param waiting why the operation is stalled; empty when it is not
 * @param age for how long it has been in progress, at least: counted since this leader first saw it
 */
public record Progress(int step, int steps, String doing, long left, String unit, String waiting, Duration age) {
  /** That of an operation of which no leader of the meta group has said anything. */
  public static final Progress UNKNOWN = new Progress(0, 0, "", -1, "", "", Duration.ZERO);

  void writeTo(FieldWriter out) {
    out.octet(step);
    out.octet(steps);
    out.text(doing);
    out.number(left);
    out.text(unit);
    out.text(waiting);
    out.number(age.toMillis());
  }

  static Progress readFrom(FieldReader in) {
    return new Progress(in.octet(), in.octet(), in.text(), in.number(), in.text(), in.text(), Duration.ofMillis(in.number()));
  }
}
