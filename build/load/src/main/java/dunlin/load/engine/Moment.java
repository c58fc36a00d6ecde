package dunlin.load.engine;

import dunlin.load.count.Snapshot;
import java.util.List;

/**
 * The state of a run at the end of a second.
 *
 * @param counted since the run began, without times
 * @param workers empty when the clients are in this process
 */
public record Moment(Point point, Snapshot counted, List<WorkerState> workers) {
  public Moment {
    workers = List.copyOf(workers);
  }
}
