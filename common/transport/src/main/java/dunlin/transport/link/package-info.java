/** Ordered, reliable frames in both directions between two processes, over pipes that may break at any time. */
@NullMarked
package dunlin.transport.link;

import org.jspecify.annotations.NullMarked;
