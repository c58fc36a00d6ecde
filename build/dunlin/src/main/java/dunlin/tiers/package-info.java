/** Connects the tiers of a broker: those of one process, and those of a cluster. */
@NullMarked
package dunlin.tiers;

import org.jspecify.annotations.NullMarked;
