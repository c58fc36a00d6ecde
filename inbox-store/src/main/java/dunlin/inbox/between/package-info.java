/** What the leaders of ranges of sessions ask each other. */
@NullMarked
package dunlin.inbox.between;

import org.jspecify.annotations.NullMarked;
