/** A replica as it is served to other processes, with its location and its replies. */
@NullMarked
package dunlin.store.serve;

import org.jspecify.annotations.NullMarked;
