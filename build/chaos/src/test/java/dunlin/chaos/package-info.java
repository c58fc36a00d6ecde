@NullMarked
package dunlin.chaos;

import org.jspecify.annotations.NullMarked;
