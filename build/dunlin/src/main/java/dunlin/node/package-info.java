/** What a process of each role is composed of. */
@NullMarked
package dunlin.node;

import org.jspecify.annotations.NullMarked;
