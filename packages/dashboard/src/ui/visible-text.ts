/**
 * Replaces characters that hide a text or change its order with their codes. The direction marks of words (U+200E, U+200F)
 * belong to Arabic and Hebrew texts and stay.
 */
export function visibleText(text: string): string {
  return text.replace(disguises, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Control characters except tab and line ends, explicit directions (Unicode Bidirectional Algorithm) and characters without
 * width.
 */
const disguises = /[[\p{Cc}\p{Bidi_Control}\u200b\ufeff]--[\t\r\n\u061c\u200e\u200f]]/gv
