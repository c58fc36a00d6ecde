/** Lanes between processes: messages, their answers and flow control, as frames of a {@link dunlin.transport.link.Link}. */
@NullMarked
package dunlin.transport.lane;

import org.jspecify.annotations.NullMarked;
