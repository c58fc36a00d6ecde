package dunlin.admin.events;

import dunlin.admin.peers.TracesMXBean;
import dunlin.admin.peers.TracesMXBean.TraceLine;
import dunlin.admin.peers.TracesMXBean.TracePart;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;

/** The lines of a trace from its beginning until it has ended. */
public final class TraceLines implements EventSource {
  /*
   * Owner: the thread of its stream.
   * Bounds: LINES_MAX lines for each look. A reader who is slower than the trace misses the oldest lines; a line of the hop "trace" says how many, and names nodes
   * that do not answer.
   */
  private static final Duration PAUSE = Duration.ofMillis(500);
  private static final int LINES_MAX = 1_000;

  private final TracesMXBean traces;
  private final String trace;
  private String position = "";
  private long leftOut;
  private List<String> unanswered = List.of();
  private boolean ended;

  public TraceLines(TracesMXBean traces, String trace) {
    this.traces = traces;
    this.trace = trace;
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }

  @Override
  public List<TraceLine> look() {
    TracePart part;
    try {
      part = traces.read(trace, position, LINES_MAX);
    } catch (NoSuchElementException gone) {
      ended = true;
      return List.of();
    }
    List<TraceLine> lines = new ArrayList<>();
    if (part.lost() > 0) lines.add(note("lost", part.lost() + " lines"));
    lines.addAll(part.lines());
    if (part.leftOut() > leftOut) lines.add(note("left-out", part.leftOut() - leftOut + " lines"));
    for (String each : part.unanswered()) if (!unanswered.contains(each)) lines.add(note("missing", each));
    position = part.next();
    leftOut = part.leftOut();
    unanswered = part.unanswered();
    ended = !part.running() && part.lines().isEmpty();
    return lines;
  }

  private static TraceLine note(String step, String reason) {
    return new TraceLine(Instant.now().toString(), "", "trace", step, reason, "", "", "", 0, false, 0);
  }

  @Override
  public boolean ended() {
    return ended;
  }

  @Override
  public void close() {}
}
