/** A run on several machines: workers that have a share of the clients each, and the director that shares out and adds up. */
@NullMarked
package dunlin.load.remote;

import org.jspecify.annotations.NullMarked;
