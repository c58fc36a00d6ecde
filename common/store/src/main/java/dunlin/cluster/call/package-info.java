/** The calls and answers between the nodes of a cluster, as values and as bytes, and the addresses of nodes. */
@NullMarked
package dunlin.cluster.call;

import org.jspecify.annotations.NullMarked;
