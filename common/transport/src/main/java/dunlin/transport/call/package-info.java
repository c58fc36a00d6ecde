/** Calls from one process to another, and their answers, over one {@link dunlin.transport.link.Link} after another. */
@NullMarked
package dunlin.transport.call;

import org.jspecify.annotations.NullMarked;
