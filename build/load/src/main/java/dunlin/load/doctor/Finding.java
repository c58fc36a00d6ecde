package dunlin.load.doctor;

/**
 * What the doctor says of one limit.
 *
 * @param enough whether the limit is large enough
 * @param stops whether the run would fail at it, rather than be slow
 * @param sentence what there is, and what is needed
 * @param remedy the command that mends it; empty when nothing is to be mended
 */
public record Finding(String limit, boolean enough, boolean stops, String sentence, String remedy) {
  static Finding enough(String limit, String sentence) {
    return new Finding(limit, true, false, sentence, "");
  }

  /** In one line, or two with the remedy. */
  public String text() {
    return "%s  %-16s  %s%s".formatted(enough ? "ok       " : "TOO SMALL", limit, sentence, remedy.isEmpty() ? "" : "%n           mend it:       %s".formatted(remedy));
  }
}
