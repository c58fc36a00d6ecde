/** Settings of a node's ranges: their logs and memory, the ports between nodes, and the bounds of calls. */
@NullMarked
package dunlin.store.settings;

import org.jspecify.annotations.NullMarked;
