/** The metrics of a node: meters, their names in JMX, and beans with descriptions. */
@NullMarked
package dunlin.runtime.metrics;

import org.jspecify.annotations.NullMarked;
