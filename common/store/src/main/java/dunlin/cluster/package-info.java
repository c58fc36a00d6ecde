/** A node among others: finds its cluster, says how it is doing, and carries out what the meta group's leader decides. */
@NullMarked
package dunlin.cluster;

import org.jspecify.annotations.NullMarked;
