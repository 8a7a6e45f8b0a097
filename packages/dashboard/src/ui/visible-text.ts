/**
 * With characters that would show a text in another order than it has, or not at all, by their code. Those of the directions
 * of whole words (U+200E, U+200F) belong to Arabic and Hebrew texts and stay.
 */
export function visibleText(text: string): string {
  return text.replace(disguises, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Controls but tab and line ends, explicit directions (Unicode, Bidirectional Algorithm), and what has no width. */
const disguises = /[[\p{Cc}\p{Bidi_Control}\u200b\ufeff]--[\t\r\n\u061c\u200e\u200f]]/gv
