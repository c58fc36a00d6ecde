/** What every node needs around its features: typed settings, metrics and JMX, loss accounting, the admin listener. */
@NullMarked
package dunlin.runtime;

import org.jspecify.annotations.NullMarked;
