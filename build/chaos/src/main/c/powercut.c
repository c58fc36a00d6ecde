/*
 * powercut: shuts a file system down while it is in use, as a power failure would.
 *
 *   powercut DIRECTORY
 *
 * Data that is not on the disk yet is lost, including the journal, and every access fails until the file system is mounted
 * again. ext4 and xfs support it, with the same request number, which not all headers define.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define SHUT_DOWN _IOR('X', 125, uint32_t)

int main(int argc, char **argv) {
    uint32_t without_flushing_the_journal = 2;
    int directory = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
    if (directory < 0 || ioctl(directory, SHUT_DOWN, &without_flushing_the_journal)) {
        fprintf(stderr, "powercut: %s: %s\n", argc == 2 ? argv[1] : "one directory is needed", strerror(errno));
        return 1;
    }
    return 0;
}
