@NullMarked
package dunlin.transport.link;

import org.jspecify.annotations.NullMarked;
