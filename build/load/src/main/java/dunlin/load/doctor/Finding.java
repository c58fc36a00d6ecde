package dunlin.load.doctor;

/**
 * The doctor's finding about one limit.
 *
 * @param enough whether the limit is large enough
 * @param stops whether the run would fail at it instead of being slow
 * @param sentence what there is, and what is needed
 * @param remedy the command that raises the limit; empty when the limit is large enough
 */
public record Finding(String limit, boolean enough, boolean stops, String sentence, String remedy) {
  static Finding enough(String limit, String sentence) {
    return new Finding(limit, true, false, sentence, "");
  }

  /** The finding in one line, or in two with the remedy. */
  public String text() {
    return "%s  %-16s  %s%s".formatted(enough ? "ok       " : "TOO SMALL", limit, sentence, remedy.isEmpty() ? "" : "%n           mend it:       %s".formatted(remedy));
  }
}
