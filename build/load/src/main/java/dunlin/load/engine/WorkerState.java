package dunlin.load.engine;

import dunlin.load.count.Snapshot;
import java.util.Optional;

/**
 * How one worker of a run is.
 *
 * @param share which part of the clients it has
 * @param busy whether the step goes on there
 * @param lost why nothing is heard of it any more; empty while it is well
 * @param counted the last that it said
 */
public record WorkerState(String name, String share, boolean busy, Optional<String> lost, Snapshot counted) {}
