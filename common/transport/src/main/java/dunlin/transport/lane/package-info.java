/** Lanes between processes: messages, what becomes of them, and who waits for whom, as frames of a {@link dunlin.transport.link.Link}. */
@NullMarked
package dunlin.transport.lane;

import org.jspecify.annotations.NullMarked;
