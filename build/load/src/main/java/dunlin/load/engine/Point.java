package dunlin.load.engine;

/**
 * One second of a run.
 *
 * @param second since the start, at its end
 * @param connected clients at that moment
 * @param published messages per second, likewise received
 * @param errors refusals, failures, timeouts and lost connections of all kinds
 * @param p50 of deliveries, in microseconds; -1 when there were none. Likewise the next ones
 */
public record Point(double second, long connected, double connects, double published, double received, double errors, long p50, long p90, long p99, long max) {}
