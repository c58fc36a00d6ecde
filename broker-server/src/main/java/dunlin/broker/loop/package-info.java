/**
 * The event loops of a frontend: what is posted to one, its lane and that lane's credit, what one has for another at the end of a round; and
 * what everything on them shares, settings and the tiers behind.
 *
 * <p>Promises: what one thread posts keeps its order, a task that fails takes no other with it, and what is passed on holds credit of its lane
 * until it has arrived.
 *
 * <p>It knows none of those who live on a loop, but by {@link dunlin.broker.loop.Loop.Resident}. All other packages that run on loops may
 * know it.
 */
@NullMarked
package dunlin.broker.loop;

import org.jspecify.annotations.NullMarked;
