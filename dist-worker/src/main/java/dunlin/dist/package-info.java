/** Who is subscribed to what: the routes, the match of a topic, and the fan-out to shards. */
@NullMarked
package dunlin.dist;

import org.jspecify.annotations.NullMarked;
