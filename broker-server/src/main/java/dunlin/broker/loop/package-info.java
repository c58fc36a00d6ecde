/**
 * The event loops of a frontend: posted tasks, the lane of each loop and its credit, and the batches between loops; and
 * what the loops share, such as settings and the other tiers.
 *
 * <p>Promises: tasks of one thread keep their order, a task that fails does not affect others, and a message that is
 * passed to another loop holds credit of its lane until it has arrived.
 *
 * <p>It uses connections and sessions only through {@link dunlin.broker.loop.Loop.Resident}. All other packages that
 * run on loops may use it.
 */
@NullMarked
package dunlin.broker.loop;

import org.jspecify.annotations.NullMarked;
