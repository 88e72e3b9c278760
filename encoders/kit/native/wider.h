/* Functions that are compiled twice, where the loader can choose: with vectors of 32 bytes, and of
 * 16. Neither changes a result. */
#ifndef CARTWRIGHT_WIDER_H
#define CARTWRIGHT_WIDER_H

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDER __attribute__((target_clones("avx2", "default")))
#else
#define WIDER
#endif

#endif
