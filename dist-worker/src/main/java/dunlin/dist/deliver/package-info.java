/** The deliver executor: shares the copies of a message that has many destinations among workers. */
@NullMarked
package dunlin.dist.deliver;

import org.jspecify.annotations.NullMarked;
