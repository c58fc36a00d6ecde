/** How a node's ranges are set up: their logs and memory, the ports between nodes, and the bounds of what calls and is called there. */
@NullMarked
package dunlin.store.settings;

import org.jspecify.annotations.NullMarked;
