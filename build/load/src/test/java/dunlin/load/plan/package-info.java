@NullMarked
package dunlin.load.plan;

import org.jspecify.annotations.NullMarked;
