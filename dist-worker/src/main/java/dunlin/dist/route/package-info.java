/**
 * Routes: their ranges, rows and limits, and the index that finds those of a topic. {@link dunlin.dist.route.RouteServer}
 * serves one range of them.
 */
@NullMarked
package dunlin.dist.route;

import org.jspecify.annotations.NullMarked;
