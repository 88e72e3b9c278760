/* A place in a text that a kernel reads from its start to its end. */
#ifndef CARTWRIGHT_CURSOR_H
#define CARTWRIGHT_CURSOR_H

#include <stdint.h>

typedef struct {
    const uint8_t *at, *end;
} text_cursor;

static inline int next_is(const text_cursor *text, uint8_t character)
{
    return text->at < text->end && *text->at == character;
}

static inline int next_is_digit(const text_cursor *text)
{
    return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

#endif
