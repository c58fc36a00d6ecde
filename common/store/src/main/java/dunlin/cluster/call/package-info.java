/** What the nodes of a cluster ask each other and answer, as values and as bytes, and where they are reached. */
@NullMarked
package dunlin.cluster.call;

import org.jspecify.annotations.NullMarked;
