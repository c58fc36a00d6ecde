@NullMarked
package dunlin.dist;

import org.jspecify.annotations.NullMarked;
