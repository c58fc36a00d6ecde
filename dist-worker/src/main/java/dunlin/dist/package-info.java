/** The distribution of messages: routes, matching of topics, and the fan-out to shards. */
@NullMarked
package dunlin.dist;

import org.jspecify.annotations.NullMarked;
