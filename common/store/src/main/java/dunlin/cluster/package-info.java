/** A node as a member of a cluster: it finds its cluster, reports its state, and carries out what the meta group's leader decides. */
@NullMarked
package dunlin.cluster;

import org.jspecify.annotations.NullMarked;
