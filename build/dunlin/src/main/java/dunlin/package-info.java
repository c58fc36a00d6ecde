/** The product: a node composed of all tiers, for the command line and for other JVM applications. */
@NullMarked
package dunlin;

import org.jspecify.annotations.NullMarked;
