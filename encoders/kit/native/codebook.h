/* A codebook of up to 256 blocks of 16 bytes, and the search for the nearest of them. */
#ifndef CARTWRIGHT_CODEBOOK_H
#define CARTWRIGHT_CODEBOOK_H

#include "kernel.h"

enum { CODEBOOK_BYTES = 16, CODEBOOK_ENTRIES = 256 };

/* For each entry all entries by their distance from it: a lower bound of it * 256 + entry. The
 * greatest distance is 16 * 255^2 < 2^20, so that a key has 28 bits. */
typedef struct {
    uint32_t keys[CODEBOOK_ENTRIES][CODEBOOK_ENTRIES];
    uint8_t buckets[CODEBOOK_ENTRIES][CODEBOOK_ENTRIES];
    int16_t entries[CODEBOOK_ENTRIES][CODEBOOK_BYTES];
    int count;
} codebook;

/* What is known of blocks: the entry of each, its squared distance, and that of the next entry
 * (left alone where `second` is NULL). */
typedef struct {
    const uint8_t *bytes;
    Py_ssize_t count;
    int32_t *labels, *nearest, *second;
} codebook_blocks;

/* Take `count` entries, for a search among that many blocks. */
void codebook_open(codebook *book, const uint8_t *entries, int count, Py_ssize_t blocks);

/* Find the nearest entries, the lowest of equal ones; labels are guesses before. */
void codebook_search(const codebook *book, const codebook_blocks *blocks);

#endif
