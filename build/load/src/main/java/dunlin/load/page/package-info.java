/** A run, live in a browser. */
@NullMarked
package dunlin.load.page;

import org.jspecify.annotations.NullMarked;
