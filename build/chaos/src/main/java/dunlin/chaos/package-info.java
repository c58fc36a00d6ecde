/** Faults against a range of three nodes, each a process of its own, and the check of the results. */
@NullMarked
package dunlin.chaos;

import org.jspecify.annotations.NullMarked;
