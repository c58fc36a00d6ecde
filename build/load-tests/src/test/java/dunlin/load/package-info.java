@NullMarked
package dunlin.load;

import org.jspecify.annotations.NullMarked;
