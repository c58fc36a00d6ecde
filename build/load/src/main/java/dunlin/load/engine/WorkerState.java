package dunlin.load.engine;

import dunlin.load.count.Snapshot;
import java.util.Optional;

/**
 * The state of a worker.
 *
 * @param share its part of the clients
 * @param busy whether the step is still running there
 * @param lost why the worker is lost; empty while it is well
 * @param counted its latest report
 */
public record WorkerState(String name, String share, boolean busy, Optional<String> lost, Snapshot counted) {}
