/** Decides the next steps that bring the cluster to what its map, its operations and its settings say. As pure as the map itself. */
@NullMarked
package dunlin.placement.plan;

import org.jspecify.annotations.NullMarked;
