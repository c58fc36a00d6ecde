/** Services of every node: typed settings, metrics and JMX, loss accounting, the admin port. */
@NullMarked
package dunlin.runtime;

import org.jspecify.annotations.NullMarked;
